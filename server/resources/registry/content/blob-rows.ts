// The rows of blobs. The bytes are elsewhere (server/blobs).
//
// A garbage collection deletes the bytes of a blob only while it has claimed the row
// (`claimed_until`), which it cannot do while a repo or an upload refers to the row. So a
// transaction that is going to refer to a blob locks the row first, and checks that it is not
// claimed.
import { Code } from '../../../aip/code.ts'
import { registryError } from '../../../aip/registry-error.ts'
import type { RowQuery } from '../../../store/row-query.ts'
import { rowQuery, selectRow } from '../../../store/row-query.ts'
import type { Placeholders } from '../../../store/sql.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { hasManifest } from '../blob-use.ts'
import { countContent } from '../content-usage.ts'
import { requireRoomOrRelease } from '../release-reserved.ts'
import { adjustRepoSize } from '../repo-size.ts'

/**
 * Selects the size of a blob that the repo has; no row for a blob that no manifest uses and that
 * has been unused since `cutoff` or earlier.
 */
export const blobRow = (repo: string, digest: string, cutoff: number): RowQuery =>
  rowQuery(selectBlob, [], [repo, digest, cutoff])

/** Not a join, see manifest-row.ts. */
const selectBlob = ([repo, digest, cutoff]: Placeholders<[string, string, number]>) =>
  sql`select (select size from blobs b where b.digest = repo_blobs.digest) as size from repo_blobs
    where repo = ${repo} and digest = ${digest}
    and (unused_since is null or unused_since > ${cutoff} or ${hasManifest})`

export function* readBlobSize(repo: string, digest: string, cutoff: number): Work<number | undefined> {
  const row = yield* first(selectRow(blobRow(repo, digest, cutoff)))
  return row?.[0] as number | undefined
}

/**
 * Lets no collection delete the bytes of the blob while the upload exists. To be called before these bytes are written:
 * otherwise a collection could delete them before the row says that they exist.
 */
export function* protectBlob(_access: WriteAccess, upload: string, digest: string, now: number): Work<void> {
  const rows = yield sql`insert into blobs (digest, size, create_time, unused_since)
    values (${digest}, 0, ${now}, ${now}) on conflict (digest) do update
    set unused_since = excluded.unused_since, claimed_until = null
    where blobs.claimed_until is null or blobs.claimed_until <= ${now} returning digest`
  if (rows.length === 0) throw claimedBlob(digest)
  yield sql`update uploads set digest = ${digest}, update_time = ${now} where id = ${upload}`
}

/**
 * Deletes the row that `protectBlob` made for an upload that now names another digest or was
 * cancelled, unless something else has used the row. Otherwise a client could add any number of rows
 * by naming digests of content that it never uploads. To be called only if the bytes of the upload have certainly not
 * become those of the blob: a collection finds bytes by their row.
 */
export function* dropProtected(_access: WriteAccess, digest: string): Work<void> {
  // Other uploads lock the row before they refer to it. The next statement sees those that got the
  // lock first; the others wait.
  yield sql`select 1 from blobs where digest = ${digest} /*pg for update */`
  // Each use changes `unused_since`. A row that was used is kept: after a crash, it may be the only
  // trace of bytes in the storage.
  yield sql`delete from blobs where digest = ${digest} and size = 0 and unused_since = create_time
    and claimed_until is null and not exists (select 1 from repo_blobs r where r.digest = blobs.digest)
    and not exists (select 1 from uploads u where u.digest = blobs.digest)`
}

/** Stores the size of a blob whose bytes exist. The upload has protected them (`protectBlob`). */
export function* addBlob(_access: WriteAccess, digest: string, size: number): Work<void> {
  yield sql`update blobs set size = ${size} where digest = ${digest} and size <> ${size}`
}

/** Takes the blob away from the repo. Returns whether the repo had it. */
export function* unlinkBlob(access: WriteAccess, repo: string, digest: string): Work<boolean> {
  const unlinked = yield sql`delete from repo_blobs where repo = ${repo} and digest = ${digest}
    returning (select size from blobs where digest = ${digest})`
  if (!unlinked[0]) return false
  yield* adjustRepoSize(access, repo, { size: -(unlinked[0][0] as number) })
  return true
}

const claimedBlob = (digest: string) =>
  registryError(
    'UNAVAILABLE',
    Code.UNAVAILABLE,
    `blob ${digest} is just being deleted, because nothing referred to it; try again in a few seconds`,
    { headers: { 'retry-after': '5' } },
  )

/** Whether the bytes of the blob exist, and no collection can delete them before the current transaction ends. */
export function* lockBlob(digest: string): Work<boolean> {
  const row = yield* first(
    sql`select 1 from blobs where digest = ${digest} and claimed_until is null /*pg for key share */`,
  )
  return row !== undefined
}

/**
 * Gives the blob to the repo. Both must be locked. `reserved` bytes were counted for the upload of the blob, which has
 * ended, and do not count any more.
 */
export function* linkBlob(
  access: WriteAccess,
  repo: string,
  digest: string,
  now: number,
  reserved = 0,
): Work<void> {
  const linked = yield sql`insert into repo_blobs (repo, digest, unused_since)
    values (${repo}, ${digest}, ${now}) on conflict do nothing
    returning (select size from blobs where digest = ${digest})`
  if (linked[0]) {
    const size = linked[0][0] as number
    if (size > reserved) yield* requireRoomOrRelease(access, repo, size - reserved, now)
    yield* adjustRepoSize(access, repo, { size, reserved })
    return
  }
  yield sql`update repo_blobs set unused_since = ${now} where repo = ${repo} and digest = ${digest}`
  yield* countContent(access, repo, -reserved)
}
