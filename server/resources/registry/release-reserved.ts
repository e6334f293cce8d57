// A process that is killed cannot give back what it reserved for uploads, so this is done when their leases are over.
import { isQuotaExceeded } from '../../aip/errors.ts'
import type { Sql } from '../../store/sql.ts'
import { among, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import { countContent, requireContentRoom } from './content-usage.ts'

const uploadsPerTransaction = 100

/**
 * Gives back the bytes that were reserved for uploads and did not arrive before the lease expired. There is no index by
 * the end of leases: the uploads of an organization are few, and are found by their repos. The lease is deleted, so that
 * a request that was only paused for a long time cannot continue with bytes that are no longer
 * reserved for it. Returns the number of uploads.
 */
export function* releaseReserved(access: WriteAccess, now: number, condition: Sql): Work<number> {
  const rows = yield sql`select id, repo, reserved - size from uploads
    where lease_until <= ${now} and reserved > size and ${condition}
    order by id limit ${uploadsPerTransaction} /*pg for update skip locked */`
  if (rows.length === 0) return 0
  // The digest is removed as well: the bytes that were named by it may have been published.
  yield sql`update uploads set reserved = size, lease = null, lease_until = null, digest = null
    where id in ${among(rows.map(([id]) => id as string))}`
  for (const [repo, uploads] of Map.groupBy(rows, (row) => row[1] as string))
    yield* countContent(access, repo, -uploads.reduce((sum, [, , bytes]) => sum + (bytes as number), 0))
  return rows.length
}

/**
 * Like `requireContentRoom`, but while there is no room, it calls `releaseReserved` for the
 * organization and tries again. The number of uploads of an organization is limited.
 */
export function* requireRoomOrRelease(
  access: WriteAccess,
  repo: string,
  bytes: number,
  now: number,
): Work<number | undefined> {
  const organization = repo.split('/', 1)[0] ?? ''
  const condition = sql`repo > ${`${organization}/`} and repo < ${`${organization}0`}`
  for (;;) {
    try {
      return yield* requireContentRoom(access, repo, bytes)
    } catch (error) {
      if (!isQuotaExceeded(error) || (yield* releaseReserved(access, now, condition)) === 0) throw error
    }
  }
}
