// Applies the retention rules of repos while the server runs.
import type { Config } from './config/config.ts'
import type { Log } from './log.ts'
import { retentionAccess } from './policy/system-access.ts'
import { applyDueRetention } from './resources/registry/repos/due-retention.ts'
import type { ScalarMetric } from './rpc/metrics.ts'
import type { Store } from './store/db.ts'
import type { BackgroundCounts } from './workers/background-counts.ts'
import { addCounts, readCounts } from './workers/background-counts.ts'

/** How often the server looks for repos whose rules are due. */
const checkIntervalMs = 60_000

export type RetentionOptions = {
  config: Pick<Config, 'retentionIntervalMs'>
  store: Store
  log: Log
  now(): number
  counts: BackgroundCounts
}

export type RetentionSchedule = {
  /** Applies the rules of all repos that are due. */
  run(): Promise<void>
  /** Ends after the current transaction. */
  stop(): Promise<void>
}

export function scheduleRetention({ config, store, log, now, counts }: RetentionOptions): RetentionSchedule {
  const intervalMs = config.retentionIntervalMs
  const stopped = new AbortController()
  let running: Promise<void> | undefined

  const onDeleted = (
    repo: string,
    { tags = [], manifests = [] }: { tags?: string[]; manifests?: string[] },
  ) => {
    addCounts(counts, { retentionTags: tags.length, retentionManifests: manifests.length })
    log.info({ repo, tags, manifests }, 'deleted by the retention rules of a repo')
  }
  const onError = (err: unknown, repo?: string) => {
    addCounts(counts, { retentionErrors: 1 })
    log.error({ err, repo }, 'the retention rules of a repo could not be applied')
  }
  const apply = async () => {
    try {
      const deps = { store, now, onDeleted, access: retentionAccess, signal: stopped.signal }
      const { repos } = await applyDueRetention(deps, intervalMs, onError)
      addCounts(counts, { retentionRepos: repos })
    } catch (err) {
      onError(err)
    }
    running = undefined
  }
  const run = () => {
    running ??= apply()
    return running
  }
  const timer = intervalMs > 0 ? setInterval(run, checkIntervalMs).unref() : undefined
  return {
    run,
    async stop() {
      clearInterval(timer)
      stopped.abort()
      await running
    },
  }
}

/** The metrics of retention in this copy. */
export function retentionMetrics(counts: BackgroundCounts): ScalarMetric[] {
  const { retentionRepos, retentionErrors, retentionTags, retentionManifests } = readCounts(counts)
  const counter = (name: string, help: string, value: number): ScalarMetric => ({
    ...{ name: `stemma_registry_retention_${name}`, type: 'counter', help, value },
  })
  return [
    counter('repos_total', 'Repos whose retention rules were applied', retentionRepos),
    counter('errors_total', 'Failures to apply retention rules', retentionErrors),
    counter('deleted_tags_total', 'Tags that retention has deleted', retentionTags),
    counter('deleted_manifests_total', 'Manifests that retention has deleted', retentionManifests),
  ]
}
