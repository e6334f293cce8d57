import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { BlobError, blobNotFound, outOfRange } from '../blob-error.ts'
import type { BlobContent, ByteRange } from '../blob-store.ts'
import type { Digest } from '../digest.ts'
import { isOutOfRange, type S3Objects } from './objects.ts'
import { isMissingObject, storageError } from './s3-failure.ts'

export async function openS3Content(
  objects: S3Objects,
  key: string,
  digest: Digest,
  range: ByteRange | undefined,
): Promise<BlobContent> {
  const response = await objects.get(key, range).catch(async (error) => {
    if (isMissingObject(error)) throw blobNotFound(digest)
    if (range && isOutOfRange(error)) throw outOfRange(range.first, (await sizeOf(objects, key)) ?? 0)
    throw storageError(error)
  })
  const length = Number(response.headers['content-length'])
  if (!range) return contentOf(response, length, length)
  const [, first, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers['content-range'] ?? '') ?? []
  if (Number(first) !== range.first || length > range.last - range.first + 1) {
    response.destroy()
    throw new BlobError('unavailable', 'the storage for content sent a different range than requested')
  }
  return contentOf(response, Number(size), length)
}

const sizeOf = (objects: S3Objects, key: string) =>
  objects.size(key).catch((error: unknown) => {
    throw storageError(error)
  })

function contentOf(response: IncomingMessage, size: number, length: number): BlobContent {
  return {
    size,
    length,
    async sendTo(destination, signal) {
      const options = { end: false, ...(signal ? { signal } : {}) }
      await pipeline(response, destination, options).catch((error) => {
        // Without `end`, a failure of the storage does not destroy the destination.
        if (!signal?.aborted && !destination.destroyed) throw storageError(error)
        throw new BlobError('interrupted', 'the content was not sent completely', error)
      })
    },
    stream: () => response,
    async close() {
      response.destroy()
    },
  }
}
