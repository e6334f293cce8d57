// Collects garbage of the registry on a schedule, while the server runs.
import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from './config/config.ts'
import type { ContentStorage } from './content-storage.ts'
import type { Log } from './log.ts'
import { collectionAccess } from './policy/system-access.ts'
import { collectGarbage } from './resources/registry/collection/collect.ts'
import type { CollectionTotals } from './resources/registry/collection/collection.ts'
import type { ScalarMetric } from './rpc/metrics.ts'
import { claimTask, isDue, releaseTask } from './store/claim-task.ts'
import type { Store } from './store/db.ts'
import { sql } from './store/sql.ts'
import type { BackgroundCounts } from './workers/background-counts.ts'
import { addCounts, readCounts, setLastSuccess } from './workers/background-counts.ts'

export type ScheduleDependencies = {
  config: Pick<Config, 'garbageCollection'>
  store: Store
  content: ContentStorage
  log: Log
  now(): number
  /** A monotonic clock in milliseconds. */
  clock(): number
  counts: BackgroundCounts
}

export type Collector = {
  /** Collects if it is due and no other copy does. Returns whether it did. */
  runIfDue(): Promise<boolean>
  /** Ends a running collection after its current transaction. */
  stop(): Promise<void>
}

/** How often the schedule is read. */
const checkIntervalMs = 60_000
/** Between two transactions of a collection. */
const pauseMs = 20
const task = 'registry-collection'

export function openCollector(deps: ScheduleDependencies): Collector {
  const { config, store, content, log, now, clock, counts } = deps
  const { intervalMs, graceMs } = config.garbageCollection
  const stopped = new AbortController()
  const { signal } = stopped
  let running: Promise<boolean> | undefined

  const claimIfDue = async (time: number) =>
    (await store.read(() => isDue(task, time, intervalMs))) &&
    (await store.write(() => claimTask(task, time, intervalMs)))

  async function run(): Promise<boolean> {
    // A server whose registry is not used needs no storage.
    const used = await store.query(sql`select 1 from blobs union all select 1 from uploads limit 1`)
    const claimTime = now()
    if (used.length === 0 || !(await claimIfDue(claimTime))) return false
    const startedAt = clock()
    const secondsSince = () => (clock() - startedAt) / 1000
    try {
      const storage = await content.open()
      const pause = () => wait(pauseMs, undefined, { signal }).catch(() => {})
      const totals = await collectGarbage({
        ...{ access: collectionAccess, store, storage, now, graceMs, pause, signal },
      })
      report(totals, secondsSince())
      // Another copy, or this one after its restart, collects the rest.
      if (signal.aborted) await store.write(() => releaseTask(task, now(), claimTime, intervalMs))
    } catch (err) {
      addCounts(counts, { runs: 1, errors: 1, seconds: secondsSince() })
      log.error({ err }, 'the garbage collection of the registry failed')
    }
    return true
  }

  function report({ blobs, bytes, uploads, links, failures }: CollectionTotals, seconds: number): void {
    addCounts(counts, { runs: 1, errors: failures > 0 ? 1 : 0, blobs, bytes, uploads, seconds })
    if (failures === 0 && !signal.aborted) setLastSuccess(counts, now() / 1000)
    const fields = { blobs, bytes, uploads, links, failures, seconds }
    if (signal.aborted)
      log.info(fields, 'interrupted a garbage collection of the registry, since the server stops')
    else if (failures > 0) log.warn(fields, 'some garbage of the registry could not be deleted')
    else log.info(fields, 'collected garbage of the registry')
  }

  const runIfDue = () => {
    running ??= run().finally(() => {
      running = undefined
    })
    return running
  }
  const check = () => {
    runIfDue().catch((err) => log.warn({ err }, 'the schedule of the collection could not be read'))
  }
  const timer = intervalMs > 0 ? setInterval(check, checkIntervalMs).unref() : undefined
  return {
    runIfDue,
    async stop() {
      clearInterval(timer)
      stopped.abort()
      await running?.catch(() => {})
    },
  }
}

/** The metrics of the collections that this copy has performed. */
export function collectionMetrics(counts: BackgroundCounts): ScalarMetric[] {
  const { runs, errors, blobs, bytes, uploads, seconds, lastSuccess } = readCounts(counts)
  const metric = (name: string, type: ScalarMetric['type'], help: string, value: number): ScalarMetric => ({
    ...{ name: `stemma_registry_gc_${name}`, type, help, value },
  })
  return [
    metric('runs_total', 'counter', 'Garbage collections of the registry', runs),
    metric('errors_total', 'counter', 'Collections that failed, or could not delete something', errors),
    metric('deleted_blobs_total', 'counter', 'Blobs that collections have deleted', blobs),
    metric('freed_bytes_total', 'counter', 'Bytes of the blobs that collections have deleted', bytes),
    metric('deleted_uploads_total', 'counter', 'Unfinished uploads that collections have deleted', uploads),
    metric('seconds_total', 'counter', 'How long collections took', seconds),
    metric(
      'last_success_timestamp_seconds',
      'gauge',
      'When the last collection succeeded, or 0',
      lastSuccess,
    ),
  ]
}
