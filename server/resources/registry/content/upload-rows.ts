// The rows of uploads. A lease lets one request at a time use an upload, also with several threads and copies. A copy that
// is killed cannot return its leases, so they expire.
import { raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { countContent } from '../content-usage.ts'
import { busyUpload, manyUploads, noUpload } from './content-errors.ts'

/** How long a lease is valid after it was taken or extended, in milliseconds. */
export const leaseMs = 60_000

export type StoredUpload = {
  id: string
  size: number
  state: string
  lease: string
  /** The bytes that count against limits for this upload. */
  reserved: number
  /** The caller that has just begun or opened the upload. */
  identity?: string
}

/**
 * The digest that the client has named for the upload, or null. Also null if the lease of an earlier request expired
 * before that request saved or ended the upload, because that request may have stored the bytes as the blob.
 */
type WithDigest = { namedDigest: string | null }

/** The upload that a request names, and the time. */
export type UploadUse = { repo: string; id: string; now: number }

export function* readUpload(repo: string, id: string): Work<StoredUpload> {
  const row = yield* first(sql`select size, state from uploads where id = ${id} and repo = ${repo}`)
  if (!row) throw noUpload()
  return { id, size: row[0] as number, state: row[1] as string, lease: '', reserved: 0 }
}

/**
 * Gives the upload to one request, which the random text `lease` identifies. Throws if another
 * request has it.
 */
export function* leaseUpload(
  _access: WriteAccess,
  { repo, id, now }: UploadUse,
  lease: string,
): Work<StoredUpload & WithDigest> {
  const [row] =
    yield sql`update uploads set lease = ${lease}, lease_until = ${now + leaseMs}, update_time = ${now},
      digest = case when lease is null then digest end
    where id = ${id} and repo = ${repo} and (lease is null or lease_until <= ${now})
    returning size, state, reserved, digest`
  if (row) {
    const [size, state, reserved, namedDigest] = row as [number, string, number, string | null]
    return { id, size, state, lease, reserved, namedDigest }
  }
  yield* readUpload(repo, id)
  throw busyUpload()
}

/** Stores what has arrived, and extends the lease. */
export function* extendLease(
  _access: WriteAccess,
  { repo, id, now }: UploadUse,
  { size, state, lease }: SavedUpload,
): Work<void> {
  const rows = yield sql`update uploads set size = ${size}, state = ${state}, update_time = ${now},
      lease_until = ${now + leaseMs}
    where id = ${id} and repo = ${repo} and lease = ${lease} returning id`
  if (rows.length === 0) yield* throwLost(repo, id)
}

export type SavedUpload = Pick<StoredUpload, 'size' | 'state' | 'lease' | 'reserved'>

/**
 * Stores what has arrived, and ends the lease. From now on, only the bytes that have arrived count against limits.
 * `mayBePublished`: the bytes may have become those of the blob that the client has named.
 */
export function* saveUpload(
  access: WriteAccess,
  { repo, id, now }: UploadUse,
  { size, state, lease, reserved }: SavedUpload,
  mayBePublished: boolean,
): Work<void> {
  const rows = yield sql`update uploads set size = ${size}, state = ${state}, update_time = ${now},
      lease = null, lease_until = null, reserved = ${size}${mayBePublished ? raw(', digest = null') : raw('')}
    where id = ${id} and repo = ${repo} and lease = ${lease} and reserved = ${reserved} returning id`
  if (rows.length === 0) yield* throwLost(repo, id)
  yield* countContent(access, repo, size - reserved)
}

/**
 * Deletes the upload, which must have this lease; if `lease` is empty, no request may have the
 * upload. Returns the bytes that were reserved for it.
 */
export function* removeUpload(
  _access: WriteAccess,
  { repo, id, now }: UploadUse,
  lease: string,
): Work<{ reserved: number } & WithDigest> {
  const isAllowed = lease === '' ? sql`(lease is null or lease_until <= ${now})` : sql`lease = ${lease}`
  const rows = yield sql`delete from uploads where id = ${id} and repo = ${repo} and ${isAllowed}
    returning reserved, case when lease is null or lease = ${lease} then digest end`
  const [row] = rows as [number, string | null][]
  return row ? { reserved: row[0], namedDigest: row[1] } : yield* throwLost(repo, id)
}

/** For an upload that another request has ended, is using, or has used since the lease expired. */
function* throwLost(repo: string, id: string): Work<never> {
  yield* readUpload(repo, id)
  throw busyUpload()
}

/** How many uploads may be begun and not finished; 0 for any number. */
export type MaxUploads = { caller: number; organization: number }

/** How many rows are counted at most on a server without a limit for organizations. */
const maxCounted = 100_000

/**
 * Throws if the caller or the organization of the repo has too many unfinished uploads. Uploads
 * that begin at the same time do not count each other, so together they can exceed the limit.
 */
export function* requireFewUploads(repo: string, identity: string, max: MaxUploads): Work<void> {
  if (max.caller === 0 && max.organization === 0) return
  const organization = repo.split('/', 1)[0] ?? ''
  // Counting stops at the limit of the organization, because more rows would not change the result.
  const counted = max.organization || maxCounted
  const row =
    yield* first(sql`select count(*), coalesce(sum(case when identity = ${identity} then 1 else 0 end), 0)
    from (select identity from uploads where repo > ${`${organization}/`} and repo < ${`${organization}0`}
      limit ${counted}) open_uploads`)
  const [all = 0, own = 0] = (row ?? []).map(Number)
  if (max.caller > 0 && own >= max.caller) throw manyUploads('you have', own)
  if (max.organization > 0 && all >= max.organization) throw manyUploads('the organization has', all)
}
