// The schedule of retention. Before a copy applies the rules of a repo, it sets the time at which
// the repo is due again, so that no other copy applies them as well.
import type { Store } from '../../../store/db.ts'
import { sql } from '../../../store/sql.ts'
import type { Deletions, RetentionDependencies } from './apply-retention.ts'
import { applyRetention } from './apply-retention.ts'

/**
 * Applies the rules of all repos that are due. A repo is due again after the interval, even if this fails: a failure is
 * reported, and the next repo follows.
 */
export async function applyDueRetention(
  deps: RetentionDependencies,
  intervalMs: number,
  onError: (error: unknown, repo: string) => void,
): Promise<Deletions & { repos: number }> {
  const total = { repos: 0, tags: 0, manifests: 0 }
  while (!deps.signal?.aborted) {
    const repo = await claimDue(deps.store, deps.now(), intervalMs)
    if (repo === undefined) break
    try {
      const { tags, manifests } = await applyRetention(deps, repo)
      total.repos++
      total.tags += tags
      total.manifests += manifests
    } catch (error) {
      onError(error, repo)
    }
  }
  return total
}

const claimDue = (store: Store, now: number, intervalMs: number): Promise<string | undefined> =>
  store.write(function* () {
    const rows = yield sql`update repos set retention_time = ${now + intervalMs} where uid in
      (select uid from repos where retention_time > 0 and retention_time <= ${now}
        order by retention_time, uid limit 1 /*pg for update skip locked */) returning uid`
    return rows[0]?.[0] as string | undefined
  })
