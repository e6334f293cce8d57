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
 * Deletes a batch of the manifests, links to blobs, and uploads of a repo that is about to be
 * deleted, and releases the blobs. Returns whether there may be more.
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

/** The maximum size of the manifests that one transaction deletes. */
const batchBytes = 8 * 2 ** 20
const manifestsPerBatch = 100

/**
 * Manifests of a repo that have at most `batchSize` references and `batchBytes` together; at least
 * one, if the repo has any. Counting stops at the first reference that is too many for one batch.
 */
function* nextManifests(repo: string): Work<string[]> {
  const counted = yield sql`select manifest, count(*) from (
      select manifest from manifest_references where repo = ${repo} order by manifest limit ${batchSize + 1}
    ) r group by manifest`
  const counts = new Map(counted as [string, number][])
  const rows = yield sql`select digest, size from manifests where repo = ${repo}
    order by digest limit ${manifestsPerBatch}`
  const next: string[] = []
  let [references, bytes] = [0, 0]
  for (const [digest, size] of rows as [string, number][]) {
    references += counts.get(digest) ?? 0
    bytes += size
    if (next.length > 0 && (references > batchSize || bytes > batchBytes)) break
    next.push(digest)
  }
  return next
}
