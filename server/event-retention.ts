// Deletes old entries of the event log while the server runs.
import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from './config/config.ts'
import type { Log } from './log.ts'
import type { ScalarMetric } from './rpc/metrics.ts'
import type { Store } from './store/db.ts'
import { deleteOldEvents } from './store/events/retain.ts'
import type { BackgroundCounts } from './workers/background-counts.ts'
import { addCounts, readCounts } from './workers/background-counts.ts'

const intervalMs = 10 * 60_000
/** The pause between two transactions, in which other calls can write. */
const pauseMs = 20

export type EventRetentionOptions = {
  config: Pick<Config, 'auditRetentionDays'>
  store: Store
  log: Log
  now(): number
  counts: BackgroundCounts
}

/** Returns a function that stops the deletion. */
export function scheduleEventRetention(options: EventRetentionOptions): () => Promise<void> {
  if (options.config.auditRetentionDays === 0) return async () => {}
  const stopped = new AbortController()
  let running: Promise<void> | undefined
  const run = () => {
    running ??= deleteAllOldEvents(options, stopped.signal)
      .catch((err: unknown) => {
        options.log.warn({ err }, 'old entries of the audit log could not be deleted; the server tries again')
      })
      .finally(() => {
        running = undefined
      })
  }
  const timer = setInterval(run, intervalMs).unref()
  return async () => {
    clearInterval(timer)
    stopped.abort()
    await running
  }
}

const dayMs = 24 * 60 * 60_000

export async function deleteAllOldEvents(
  { config, store, now, counts }: Omit<EventRetentionOptions, 'log'>,
  signal?: AbortSignal,
): Promise<void> {
  const cutoff = now() - config.auditRetentionDays * dayMs
  while (!signal?.aborted) {
    const deleted = await store.write(() => deleteOldEvents(cutoff))
    if (deleted === undefined) return
    addCounts(counts, { eventsExpired: deleted })
    await pause(pauseMs)
  }
}

/** The metrics of the event log. */
export function eventMetrics(counts: BackgroundCounts): ScalarMetric[] {
  const { eventsDropped, eventsExpired } = readCounts(counts)
  return [
    {
      ...{ name: 'stemma_events_dropped_total', type: 'counter', value: eventsDropped },
      help: 'Issued tokens, pulls and refused writes that could not be recorded in the audit log',
    },
    {
      ...{ name: 'stemma_events_expired_total', type: 'counter', value: eventsExpired },
      help: 'Entries of the audit log that were deleted because of their age',
    },
  ]
}
