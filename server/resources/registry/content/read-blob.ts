// Reads whole blobs into memory. The caller has checked that the repo has the blob.
import type { Readable } from 'node:stream'
import { unavailable } from '../../../aip/errors.ts'
import { BlobError } from '../../../blobs/blob-error.ts'
import type { BlobStore } from '../../../blobs/blob-store.ts'
import { parseDigest } from '../../../blobs/digest.ts'

/** Undefined if the blob is larger than `maxBytes`, or missing in the storage. */
export async function readBlob(
  content: { open(): Promise<BlobStore> },
  digest: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const parsed = parseDigest(digest)
  if (!parsed) return undefined
  try {
    const blob = await (await content.open()).read(parsed)
    if (blob.size > maxBytes) {
      await blob.close()
      return undefined
    }
    return await readStream(blob.stream())
  } catch (error) {
    if (!(error instanceof BlobError)) throw error
    if (error.code === 'not-found') return undefined
    throw unavailable('the content cannot be read at the moment', error)
  }
}

async function readStream(stream: Readable): Promise<Buffer> {
  try {
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer) // a stream of bytes
    return Buffer.concat(chunks)
  } catch (cause) {
    // The storage, such as S3, has stopped in the middle of the blob.
    throw new BlobError('unavailable', 'the content could not be read to its end', cause)
  }
}
