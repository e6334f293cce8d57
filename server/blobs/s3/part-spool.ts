// A local file with room for two parts: one is sent while the next one is received. S3 wants the size of a part before
// its first byte, and a part that was not kept could not be sent again when the request fails.
import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileError } from '../blob-error.ts'
import { writeAll } from '../write-all.ts'
import type { RequestBody } from './exchange.ts'

/** At most three chunks are in memory, besides the batch that is being received. */
const chunkBytes = 128 * 1024

export type PartSpool = AsyncDisposable & {
  /** Writes at a position of the part that is being received. */
  write(chunks: Buffer[], position: number): Promise<void>
  /** The part that is being received. */
  body(bytes: number): RequestBody
  /** Continues with the other part, which must have been sent. */
  turn(): void
}

export async function openPartSpool(folder: string, partBytes: number): Promise<PartSpool> {
  const file = await openUnlinked(join(folder, `part-${randomUUID()}`)).catch((error) => {
    throw fileError(error)
  })
  let start = 0
  return {
    write: (chunks, position) =>
      writeAll(file, chunks, start + position).catch((error) => {
        throw fileError(error)
      }),
    body(bytes) {
      const from = start
      return { bytes, open: () => readPart(file, from, bytes) }
    },
    turn() {
      start = start === 0 ? partBytes : 0
    },
    [Symbol.asyncDispose]: () => file.close(),
  }
}

/** The file has no name, so nothing is left when the process ends. */
async function openUnlinked(path: string): Promise<FileHandle> {
  const file = await open(path, 'wx+', 0o600)
  try {
    await unlink(path)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

const readPart = (file: FileHandle, start: number, bytes: number): Readable =>
  Readable.from(readChunks(file, start, start + bytes), { objectMode: false, highWaterMark: chunkBytes })

/** A read stream of the file would close it at its end. */
async function* readChunks(file: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let position = start; position < end; ) {
    const buffer = Buffer.allocUnsafeSlow(Math.min(chunkBytes, end - position))
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position)
    if (bytesRead === 0) throw new Error('the file of the part is too short')
    yield buffer.subarray(0, bytesRead)
    position += bytesRead
  }
}
