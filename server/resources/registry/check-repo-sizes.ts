// Compares the stored sizes of repos with a recount. The check reads one snapshot, so concurrent pushes do not affect it.
import type { Store } from '../../store/db.ts'
import type { Sql } from '../../store/sql.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import { replaceRepoSize } from './repo-size.ts'

export type RepoSize = { size: number; manifests: number }

export type SizeDifference = { repo: string; stored: RepoSize; counted: RepoSize }

/** Returns the repos whose size is wrong or, with `repairAccess`, those that it has corrected. */
export async function checkRepoSizes(
  store: Store,
  repairAccess: WriteAccess | undefined,
): Promise<SizeDifference[]> {
  const rows = await store.read(() => selectDifferences(raw('')))
  if (!repairAccess) return rows
  const repaired: SizeDifference[] = []
  for (const { repo } of rows) {
    const difference = await store.write(() => repair(repairAccess, repo))
    if (difference) repaired.push(difference)
  }
  return repaired
}

function* selectDifferences(ofRepo: Sql): Work<SizeDifference[]> {
  const rows = yield sql`select * from (select uid,
      coalesce((select cast(sum(s.size) as bigint) from repo_sizes s where s.repo = uid), 0) as size,
      coalesce((select cast(sum(s.manifests) as bigint) from repo_sizes s where s.repo = uid), 0) as manifests,
      coalesce((select cast(sum(m.size) as bigint) from manifests m where m.repo = uid), 0)
        + coalesce((select cast(sum(b.size) as bigint) from repo_blobs l join blobs b on b.digest = l.digest
          where l.repo = uid), 0) as counted_size,
      (select count(*) from manifests m where m.repo = uid) as counted_manifests
    from repos ${ofRepo}) sizes where size <> counted_size or manifests <> counted_manifests order by uid`
  return (rows as [string, number, number, number, number][]).map(
    ([repo, size, manifests, countedSize, countedManifests]) => ({
      repo,
      stored: { size, manifests },
      counted: { size: countedSize, manifests: countedManifests },
    }),
  )
}

/** Returns undefined if the size has become right, or the repo was deleted. */
function* repair(access: WriteAccess, repo: string): Work<SizeDifference | undefined> {
  // Locks the repo first, as its deletion does, so that they cannot deadlock. The lock lets pushes pass.
  yield* first(sql`select 1 from repos where uid = ${repo} /*pg for no key update */`)
  // Waits for transactions that have changed a size, so that the statement below sees their content.
  // Those that have changed content, but not yet a size, wait and then change the corrected size.
  yield raw('/*pg lock table repo_sizes in exclusive mode -- */ select 1')
  const [difference] = yield* selectDifferences(sql`where uid = ${repo}`)
  if (difference) yield* replaceRepoSize(access, repo, difference.counted)
  return difference
}
