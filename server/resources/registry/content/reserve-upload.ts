// Uploads count against the limits of groups before their bytes arrive, so that uploads at the same time cannot exceed a
// limit together.
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { countContent } from '../content-usage.ts'
import { requireRoomOrRelease } from '../release-reserved.ts'
import type { StoredUpload } from './upload-rows.ts'

/**
 * `wanted` is the size that the upload will have after the request. If not `isExact`, the size is
 * unknown, and `wanted` is its minimum.
 */
export type Expected = { wanted: number; isExact: boolean; now: number }

const mebibyte = 2 ** 20
const maxStep = 64 * mebibyte

/**
 * Reserves the bytes that an upload is going to have, if a limit applies. The upload may have
 * `maxSize` bytes before more must be reserved; 0 for any number.
 * At most 64 MiB are reserved at a time, so that a client cannot use up the room by announcing
 * bytes that it never sends. If the size is not known, only a small part of the remaining
 * room is reserved, so that many uploads can run at a time. When the reserved bytes have arrived,
 * the registry asks for more.
 */
export function* reserveUpload(
  access: WriteAccess,
  repo: string,
  { id, size, reserved }: Pick<StoredUpload, 'id' | 'size' | 'reserved'>,
  { wanted, isExact, now }: Expected,
): Work<{ reserved: number; maxSize: number }> {
  if (isExact && wanted <= reserved) return { reserved, maxSize: 0 }
  const room = yield* requireRoomOrRelease(access, repo, wanted - reserved, now)
  if (room === undefined) return { reserved, maxSize: 0 }
  const free = room + reserved
  const step = Math.min(maxStep, Math.max(mebibyte, Math.floor((free - size) / 16)))
  const target = isExact
    ? Math.max(reserved, Math.min(wanted, size + maxStep))
    : Math.min(free, Math.max(reserved, wanted + step))
  if (target !== reserved) {
    yield sql`update uploads set reserved = ${target} where id = ${id}`
    yield* countContent(access, repo, target - reserved)
  }
  return { reserved: target, maxSize: target }
}
