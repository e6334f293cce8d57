// Removes from a repo the blobs that no manifest of the repo refers to.
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { hasManifest } from '../blob-use.ts'
import { adjustRepoSize } from '../repo-size.ts'

const linksPerTransaction = 100

export type ReviewedLinks = { reviewed: number; removed: number }

/**
 * Reviews blobs of repos that may have been unused since `graceStart` or earlier. Reviews none if
 * there are no more, or if other transactions have locked all of them.
 */
export function* reviewLinks(access: WriteAccess, graceStart: number): Work<ReviewedLinks> {
  // A transaction that stores a manifest locks the links to its parts. If it has locked them
  // already, they are skipped here; if not yet, it waits for this transaction. The statements below
  // see every manifest that was stored before this lock. Blobs are locked too: otherwise another
  // collection, which still sees the links that are deleted here, would mark their blobs as used
  // (claim-blobs.ts).
  const rows = yield sql`select r.repo, r.digest from repo_blobs r join blobs b on b.digest = r.digest
    where r.unused_since <= ${graceStart}
    order by r.unused_since, r.repo, r.digest limit ${linksPerTransaction} /*pg for update skip locked */`
  const byRepo = Map.groupBy(rows as [string, string][], ([repo]) => repo)
  let removed = 0
  for (const [repo, links] of byRepo) {
    const digests = links.map(([, digest]) => digest)
    removed += yield* reviewRepo(access, repo, digests, graceStart)
  }
  return { reviewed: rows.length, removed }
}

function* reviewRepo(
  access: WriteAccess,
  repo: string,
  digests: readonly string[],
  graceStart: number,
): Work<number> {
  const links = sql`repo = ${repo} and digest in ${among(digests)}`
  yield sql`update repo_blobs set unused_since = null where ${links} and ${hasManifest}`
  const removed = yield sql`delete from repo_blobs where ${links} and not ${hasManifest}
    returning digest, (select size from blobs where blobs.digest = repo_blobs.digest)`
  if (removed.length === 0) return 0
  const released = removed.map(([digest]) => digest as string)
  // The blob gets no second grace period. If `unused_since` is set, another repo has released it, and the time is kept.
  yield sql`update blobs set unused_since = ${graceStart}
    where digest in ${among(released)} and unused_since is null`
  yield* adjustRepoSize(access, repo, { size: -removed.reduce((sum, [, size]) => sum + (size as number), 0) })
  return removed.length
}
