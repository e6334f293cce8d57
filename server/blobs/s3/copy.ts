import type { ByteRange } from '../blob-store.ts'
import type { Digest } from '../digest.ts'
import { isMissingObject } from './s3-failure.ts'
import type { S3Storage } from './storage.ts'

const parallelCopies = 4

/**
 * Copies an object of an upload to the key of its digest. The copy becomes visible when it is complete. `id` is the id of
 * the upload.
 */
export async function copyObject(
  storage: S3Storage,
  id: string,
  from: string,
  size: number,
  digest: Digest,
): Promise<void> {
  const { objects, multipart, keys, limits } = storage
  const to = keys.blob(digest)
  if (size <= limits.copyBytes) return objects.copy(from, to)
  const uploadId = await multipart.create(to)
  const marker = keys.copyMarker(id, digest)
  try {
    await objects.put(marker, uploadId)
    const ranges = rangesOf(size, limits.copyPartBytes)
    const etags: string[] = []
    const copyRanges = async () => {
      for (const [index, range] of ranges) {
        etags[index] = await multipart.copyPart(to, uploadId, index + 1, from, range)
      }
    }
    await allEnded(Array.from({ length: parallelCopies }, copyRanges))
    await multipart.complete(to, uploadId, etags).catch(async (error) => {
      // If the response was lost, the request was repeated. By then some servers have forgotten the upload. The key
      // contains the digest, so an object with this size is the copy.
      if (!isMissingObject(error) || (await objects.size(to)) !== size) throw error
    })
  } catch (error) {
    await multipart.abort(to, uploadId).then(
      () => objects.remove(marker).catch(() => {}),
      () => {}, // the marker stays, so `discard` tries again
    )
    throw error
  }
  await objects.remove(marker).catch(() => {}) // `discard` removes it
}

/** Like `Promise.all`, but fails only after all have ended: S3 keeps a part that is copied after the abort. */
async function allEnded(running: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(running)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** The copying loops share one generator: an error in one loop ends it, so the other loops copy no further ranges. */
function* rangesOf(size: number, length: number): Generator<[index: number, ByteRange]> {
  for (let index = 0; index * length < size; index++)
    yield [index, { first: index * length, last: Math.min(size, (index + 1) * length) - 1 }]
}
