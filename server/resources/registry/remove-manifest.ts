import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import { recordDeletion } from './record-deletion.ts'
import { adjustRepoSize } from './repo-size.ts'

/** Deletes a manifest. Its blobs must have been released before (`releaseBlobs`). */
export function* removeManifest(access: WriteAccess, repo: string, digest: string): Work<void> {
  const removed = yield sql`delete from manifests where repo = ${repo} and digest = ${digest} returning size`
  if (!removed[0]) return
  yield* adjustRepoSize(access, repo, { size: -(removed[0][0] as number), manifests: -1 })
  yield* recordDeletion(access, repo, 'manifest', digest)
}
