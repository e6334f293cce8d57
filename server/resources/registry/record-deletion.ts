import { parentOf } from '../../aip/uid.ts'
import { recordEvent } from '../../store/events/record.ts'
import type { Work } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'

/**
 * Records that a caller, or the retention of the repo, has deleted a manifest or a blob.
 * Deletions of tags have their own events.
 */
export const recordDeletion = (
  access: WriteAccess,
  repo: string,
  type: 'manifest' | 'blob',
  digest: string,
): Work<void> =>
  recordEvent(access, {
    ...{ group: parentOf(repo), kind: 'repos', uid: repo, action: 'content-deleted' },
    details: { type, digest },
  })
