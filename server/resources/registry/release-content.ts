// Releases content: notes the time since which it may be unused. A collection deletes it after the grace period, if
// nothing refers to it then.
import { among, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import { adjustRepoSize } from './repo-size.ts'

/** For a manifest that is about to be deleted. */
export function* releaseBlobs(_access: WriteAccess, repo: string, manifest: string, now: number): Work<void> {
  yield sql`update repo_blobs set unused_since = ${now} where repo = ${repo} and digest in
    (select digest from manifest_references where repo = ${repo} and manifest = ${manifest})`
}

/** How many rows one transaction deletes, which takes about 30 ms. */
const batchSize = 2000

/**
 * Deletes content of a repo, before the repo is deleted: as much as one transaction should. Returns whether there may be
 * more.
 */
export function* releaseBatch(access: WriteAccess, repo: string, now: number): Work<boolean> {
  const digests = yield* nextManifests(repo)
  if (digests.length > 0) {
    const sizes =
      yield sql`delete from manifests where repo = ${repo} and digest in ${among(digests)} returning size`
    yield* adjustRepoSize(access, repo, { size: -sumOf(sizes), manifests: -sizes.length })
    return true
  }
  const links = yield sql`delete from repo_blobs where repo = ${repo} and digest in
    (select digest from repo_blobs where repo = ${repo} limit ${batchSize})
    returning (select size from blobs b where b.digest = repo_blobs.digest), digest`
  const blobs = links.map(([, digest]) => digest as string)
  if (blobs.length > 0) yield sql`update blobs set unused_since = ${now} where digest in ${among(blobs)}`
  const uploads = yield sql`delete from uploads where id in
    (select id from uploads where repo = ${repo} limit ${batchSize}) returning reserved`
  yield* adjustRepoSize(access, repo, { size: -sumOf(links), reserved: sumOf(uploads) })
  return links.length === batchSize || uploads.length === batchSize
}

const sumOf = (rows: readonly (readonly unknown[])[]) =>
  rows.reduce((sum, [size]) => sum + (size as number), 0)

/** Manifests of a repo that have at most `batchSize` references together; at least one, if the repo has any. */
function* nextManifests(repo: string): Work<string[]> {
  const rows = yield sql`select digest, (select count(*) from manifest_references r
      where r.repo = manifests.repo and r.manifest = manifests.digest)
    from manifests where repo = ${repo} order by digest limit 100`
  const next: string[] = []
  let references = 0
  for (const [digest, count] of rows as [string, number][]) {
    references += count
    if (next.length > 0 && references > batchSize) break
    next.push(digest)
  }
  return next
}
