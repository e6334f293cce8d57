import type { BlobStore } from '../../../blobs/blob-store.ts'
import type { Digest } from '../../../blobs/digest.ts'
import type { Store } from '../../../store/db.ts'
import type { Claim, ClaimedBlob } from './claim-blobs.ts'
import { abortsBeforeEndMs, keepForLater, removeBlobs } from './claim-blobs.ts'

const deletionsAtATime = 10

export type Deletion = { blobs: number; bytes: number; failures: unknown[] }

/**
 * Deletes the bytes of claimed blobs, and then their rows. A crash in between leaves rows without
 * bytes, but nothing refers to these rows.
 */
export async function deleteClaimed(
  { store, storage, now }: { store: Store; storage: BlobStore; now(): number },
  { until, blobs }: Claim,
): Promise<Deletion> {
  // After the claim has ended, an upload may use the blob, whose bytes must stay.
  const endTime = until - abortsBeforeEndMs
  const signal = AbortSignal.timeout(Math.max(0, endTime - now()))
  const deleted: { digest: string; size: number | undefined }[] = []
  const failed: string[] = []
  const failures: unknown[] = []
  const deleteBytes = async ({ digest, size }: ClaimedBlob) => {
    try {
      // The size in the row is 0 if it is not known: the push was interrupted, or the storage had a
      // blob without a row. The casts are safe: the column contains only digests.
      const stored = size > 0 ? size : await storage.size(digest as Digest)
      if (stored !== undefined) await storage.delete(digest as Digest, signal)
      deleted.push({ digest, size: stored })
    } catch (error) {
      failed.push(digest)
      failures.push(error)
    }
  }
  for (let at = 0; at < blobs.length && now() < endTime; at += deletionsAtATime)
    await Promise.all(blobs.slice(at, at + deletionsAtATime).map(deleteBytes))
  await store.write(function* () {
    const digests = deleted.map(({ digest }) => digest)
    if (digests.length > 0) yield* removeBlobs(digests, until)
    if (failed.length > 0) yield* keepForLater(failed, until, now())
  })
  const sizes = deleted.flatMap(({ size }) => size ?? [])
  return { blobs: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0), failures }
}
