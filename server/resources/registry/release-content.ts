// Releases content: deletes the rows that refer to it, and starts the grace period of its blobs anew (`review_after`).
// Blobs to which nothing else refers are deleted after it.
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'

/**
 * How long a blob stays after the last time that something referred to it, in milliseconds. A client that was told that
 * the registry has a blob has this long to push the manifest that contains it.
 */
export const graceMs = 24 * 3_600_000

/** For a manifest that is about to be deleted. */
export function* releaseBlobs(_access: WriteAccess, repo: string, manifest: string, now: number): Work<void> {
  yield sql`update blobs set review_after = ${now + graceMs} where digest in
    (select digest from manifest_references where repo = ${repo} and manifest = ${manifest})`
}

/** Deletes all content of a repo, before the repo is deleted. */
export function* releaseRepo(_access: WriteAccess, repo: string, now: number): Work<void> {
  yield sql`update blobs set review_after = ${now + graceMs} where digest in
    (select digest from repo_blobs where repo = ${repo})`
  yield sql`delete from manifests where repo = ${repo}`
  yield sql`delete from repo_blobs where repo = ${repo}`
  yield sql`delete from uploads where repo = ${repo}`
}
