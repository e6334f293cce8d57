// Claims blobs that no repo and no upload refers to, so that their bytes can be deleted. A claim is a lease: if the
// process that has it is killed, the claim ends after `claimMs`. Then another collection can claim
// the blob, or an upload can use it.
import { among, join, raw, sql, tuple } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'

/** Small, because a blob that is claimed cannot be pushed. */
export const blobsPerClaim = 50

/** How long a claim lasts, in milliseconds. */
export const claimMs = 5 * 60_000

/**
 * How long before the end of its claim, in milliseconds, a deletion is aborted. For clocks that
 * differ, and for storage that still executes a request that was aborted.
 */
export const abortsBeforeEndMs = 2 * 60_000

/** The size is 0 if it is not known. */
export type ClaimedBlob = { digest: string; size: number }

/** `until` identifies the claim, because a later claim of the same blob has a later end. */
export type Claim = { until: number; blobs: ClaimedBlob[] }

const hasRepo = raw('exists (select 1 from repo_blobs r where r.digest = blobs.digest)')
const hasUpload = raw('exists (select 1 from uploads u where u.digest = blobs.digest)')

/**
 * Reviews blobs that are marked as unused since `graceStart` or earlier, and claims those that nothing refers to.
 * `reviewed` is 0 if there are no more, or if other transactions have locked all of them.
 */
export function* claimBlobs(graceStart: number, now: number): Work<Claim & { reviewed: number }> {
  const until = now + claimMs
  // Transactions that add a reference lock the row first, so the statements below see every
  // reference that was added before this lock.
  const rows = yield sql`select digest from blobs where unused_since <= ${graceStart}
    and (claimed_until is null or claimed_until <= ${now})
    order by unused_since, digest limit ${blobsPerClaim} /*pg for update skip locked */`
  if (rows.length === 0) return { until, blobs: [], reviewed: 0 }
  const these = sql`digest in ${among(rows.map(([digest]) => digest as string))}`
  yield sql`update blobs set unused_since = null where ${these} and ${hasRepo}`
  // Every upload ends, by its client or by a collection. The blob is reviewed again after another grace period.
  yield sql`update blobs set unused_since = ${now} where ${these} and not ${hasRepo} and ${hasUpload}`
  const claimed = yield sql`update blobs set claimed_until = ${until}
    where ${these} and not ${hasRepo} and not ${hasUpload} returning digest, size`
  return { until, blobs: claimed.map(toClaimed), reviewed: rows.length }
}

/** Claims blobs of the storage that have no row. A row that an upload adds meanwhile wins. */
export function* claimUnknown(digests: readonly string[], now: number): Work<Claim> {
  const until = now + claimMs
  const values = digests.map((digest) => tuple([digest, 0, now, 0, until]))
  const rows = yield sql`insert into blobs (digest, size, create_time, unused_since, claimed_until)
    values ${join(values, ', ')} on conflict do nothing returning digest, size`
  return { until, blobs: rows.map(toClaimed) }
}

const toClaimed = ([digest, size]: readonly unknown[]): ClaimedBlob => ({
  digest: digest as string,
  size: size as number,
})

/** Deletes the rows of blobs whose bytes are deleted. */
export function* removeBlobs(digests: readonly string[], until: number): Work<void> {
  yield sql`delete from blobs where digest in ${among(digests)} and claimed_until = ${until}`
}

/**
 * For blobs whose bytes could not be deleted. The claim stays until it ends, since the storage may still be deleting.
 * The next try is a grace period from now, so that such blobs are not the first of each collection.
 */
export function* keepForLater(digests: readonly string[], until: number, now: number): Work<void> {
  yield sql`update blobs set unused_since = ${now}
    where digest in ${among(digests)} and claimed_until = ${until}`
}
