// Applies the retention rules of repos while the server runs.
import type { Log } from './log.ts'
import { retentionAccess } from './policy/system-access.ts'
import { applyDueRetention } from './resources/registry/repos/due-retention.ts'
import type { Store } from './store/db.ts'

const checkIntervalMs = 60_000

export type ScheduleOptions = {
  store: Store
  log: Log
  now(): number
  /** How often the rules of a repo are applied, in milliseconds. 0: never. */
  intervalMs: number
}

/** Looks every minute for repos whose rules are due. Returns a function that stops it, after the current transaction. */
export function scheduleRetention({ store, log, now, intervalMs }: ScheduleOptions): () => Promise<void> {
  const { signal, abort } = withAbort()
  let running: Promise<void> | undefined
  const run = async () => {
    try {
      const deleted = await applyDueRetention(
        {
          ...{ store, now, signal, access: retentionAccess },
          onDeleted: (repo, names) => log.info({ repo, ...names }, 'deleted by the retention of a repo'),
        },
        intervalMs,
      )
      if (deleted.repos > 0) log.info(deleted, 'retention was applied')
    } catch (err) {
      log.warn({ err }, 'the retention of a repo could not be applied')
    }
    running = undefined
  }
  const timer = setInterval(() => {
    running ??= run()
  }, checkIntervalMs).unref()
  if (intervalMs === 0) clearInterval(timer)
  return async () => {
    clearInterval(timer)
    abort()
    await running
  }
}

function withAbort() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
