import { type FileHandle, open } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { BlobError, blobNotFound, fileError, isMissing, outOfRange } from '../blob-error.ts'
import type { BlobContent, ByteRange } from '../blob-store.ts'
import type { Digest } from '../digest.ts'
import { writeChunk } from '../write-chunk.ts'

/** Measured: 2190 MB per CPU second with one buffer of this size, 1860 with half of it, 1300 by piping a read stream. */
const bufferBytes = 512 * 1024

export async function openContent(path: string, digest: Digest, range?: ByteRange): Promise<BlobContent> {
  const file = await open(path, 'r').catch((error) => {
    throw isMissing(error) ? blobNotFound(digest) : fileError(error)
  })
  try {
    const { size } = await file.stat()
    const first = range?.first ?? 0
    if (range && first >= size) throw outOfRange(first, size)
    const end = Math.min(range ? range.last + 1 : size, size)
    return contentOf(file, size, first, end)
  } catch (error) {
    await file.close()
    throw fileError(error)
  }
}

function contentOf(file: FileHandle, size: number, first: number, end: number): BlobContent {
  return {
    size,
    length: end - first,
    async sendTo(destination, signal) {
      try {
        await send(file, first, end, destination, signal)
      } finally {
        await file.close()
      }
    },
    stream() {
      if (first < end)
        return file.createReadStream({ start: first, end: end - 1, highWaterMark: bufferBytes })
      // A read stream cannot have an empty range.
      return Readable.from([]).once('close', () => file.close())
    },
    close: () => file.close(),
  }
}

/** Reuses one buffer: the next read starts when the destination no longer needs the previous chunk. */
async function send(
  file: FileHandle,
  first: number,
  end: number,
  destination: Writable,
  signal: AbortSignal | undefined,
): Promise<void> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(bufferBytes, Math.max(1, end - first)))
  for (let position = first; position < end; ) {
    const length = Math.min(buffer.length, end - position)
    const { bytesRead } = await file.read(buffer, 0, length, position).catch((error) => {
      throw fileError(error)
    })
    if (bytesRead === 0) throw new BlobError('unavailable', 'the file became shorter while it was read')
    await writeChunk(destination, buffer.subarray(0, bytesRead), signal)
    position += bytesRead
  }
}
