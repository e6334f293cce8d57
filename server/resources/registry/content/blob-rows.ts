// The rows of blobs. The bytes are elsewhere (server/blobs).
import type { Sql } from '../../../store/sql.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { graceMs } from '../release-content.ts'
import { adjustRepoSize } from '../repo-size.ts'

/** The size of a blob that the repo has. */
export function* readBlobSize(repo: string, digest: string): Work<number | undefined> {
  const row = yield* first(sql`select b.size from repo_blobs r join blobs b on b.digest = r.digest
    where r.repo = ${repo} and r.digest = ${digest}`)
  return row?.[0] as number | undefined
}

/** Stores that a blob exists. */
export function* addBlob(_access: WriteAccess, digest: string, size: number, now: number): Work<void> {
  yield sql`insert into blobs (digest, size, create_time, review_after)
    values (${digest}, ${size}, ${now}, ${now + graceMs})
    on conflict (digest) do update set review_after = excluded.review_after`
}

/** Gives the blob to the repo. Both must exist. */
export function* linkBlob(access: WriteAccess, repo: string, digest: string): Work<void> {
  const linked = yield sql`insert into repo_blobs (repo, digest) values (${repo}, ${digest})
    on conflict do nothing returning (select size from blobs where digest = ${digest})`
  if (linked[0]) yield* adjustRepoSize(access, repo, { size: linked[0][0] as number })
}

/** Takes the blob away from the repo. Returns whether the repo had it. */
export function* unlinkBlob(access: WriteAccess, repo: string, digest: string): Work<boolean> {
  const unlinked = yield sql`delete from repo_blobs where repo = ${repo} and digest = ${digest}
    returning (select size from blobs where digest = ${digest})`
  if (!unlinked[0]) return false
  yield* adjustRepoSize(access, repo, { size: -(unlinked[0][0] as number) })
  return true
}

/** Moves the review of blobs into the future, because something refers to them or has just stopped to. */
export const postponeReview = (digests: readonly string[], now: number): Sql =>
  sql`update blobs set review_after = ${now + graceMs} where digest in ${among(digests)}`
