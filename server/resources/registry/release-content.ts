// Releases content: notes the time since which it may be unused. A collection deletes it after the grace period, if
// nothing refers to it then.
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import { countContent } from './content-usage.ts'

/** For a manifest that is about to be deleted. */
export function* releaseBlobs(_access: WriteAccess, repo: string, manifest: string, now: number): Work<void> {
  yield sql`update repo_blobs set unused_since = ${now} where repo = ${repo} and digest in
    (select digest from manifest_references where repo = ${repo} and manifest = ${manifest})`
}

/** Deletes all content of a repo, before the repo is deleted. */
export function* releaseRepo(access: WriteAccess, repo: string, now: number): Work<void> {
  const [row] = yield sql`select coalesce((select sum(size) from repo_sizes where repo = ${repo}), 0)
    + coalesce((select sum(reserved) from uploads where repo = ${repo}), 0)`
  yield sql`update blobs set unused_since = ${now} where digest in
    (select digest from repo_blobs where repo = ${repo})`
  yield sql`delete from manifests where repo = ${repo}`
  yield sql`delete from repo_blobs where repo = ${repo}`
  yield sql`delete from uploads where repo = ${repo}`
  yield* countContent(access, repo, -Number(row?.[0] ?? 0))
}
