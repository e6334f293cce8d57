// The file that an upload is written to until it is finished.
import type { Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { type Batch, gatherBatches } from '../batches.ts'
import {
  type BlobError,
  fileError,
  isMissing,
  offsetMismatch,
  tooLarge,
  uploadNotFound,
} from '../blob-error.ts'
import type { AppendOptions } from '../blob-store.ts'
import { releaseChunks } from '../release-chunks.ts'
import type { RunningHashes } from '../running-hashes.ts'
import { writeAll } from '../write-all.ts'

/** Identifies the content of a spool file, so that no hash is used for a file that another process has changed. */
export const markOf = ({ size, mtimeMs, ino }: Stats): string => `${size} ${mtimeMs} ${ino}`

export async function withSpool<T>(
  path: string,
  id: string,
  use: (file: FileHandle) => Promise<T>,
): Promise<T> {
  try {
    await using file = await open(path, 'r+')
    return await use(file)
  } catch (error) {
    throw isMissing(error) ? uploadNotFound(id) : fileError(error)
  }
}

/** Appends to a spool file. Returns its size, and the failure if the body is not complete. */
export async function appendToSpool(
  hashes: RunningHashes,
  id: string,
  file: FileHandle,
  body: Readable,
  options: AppendOptions,
): Promise<{ size: number; failure?: BlobError }> {
  const before = await file.stat()
  if (options.offset !== undefined && options.offset !== before.size) {
    throw offsetMismatch(options.offset, before.size)
  }
  const running = hashes.take(id, markOf(before))
  const hash = async (batch: Batch) => running && hashes.update(running, batch)
  const failure = await receive(file, before.size, body, hash, options)
  if (failure?.code === 'no-space') await giveBack(file, before.size)
  const after = await file.stat()
  // After a failed write, the hash can include bytes that the file does not have.
  if (running && (failure === undefined || failure.code === 'interrupted')) {
    hashes.keep(id, markOf(after), running)
  }
  return failure ? { size: after.size, failure } : { size: after.size }
}

/**
 * Frees the space of an append that filled the disk, because the database may be on the same disk
 * and could not write either. The client gets an error for the whole append, and can repeat it.
 */
const giveBack = (file: FileHandle, size: number) => file.truncate(size).catch(() => {})

async function receive(
  file: FileHandle,
  start: number,
  body: Readable,
  hash: (batch: Batch) => Promise<void>,
  { signal, maxBytes = Number.POSITIVE_INFINITY, extend, releasesChunks = false }: AppendOptions,
): Promise<BlobError | undefined> {
  let limit = maxBytes
  let size = start
  let failure: unknown
  let written: Promise<unknown> = Promise.resolve()
  try {
    for await (const batch of gatherBatches(body, signal)) {
      if (size + batch.bytes > limit) limit = (await extend?.(size + batch.bytes)) ?? limit
      if (size + batch.bytes > limit) throw tooLarge(limit)
      // Meanwhile, the previous batch is being written.
      await hash(batch)
      failure = await written
      if (failure) break
      // An error is kept as a value until the next batch, so that no rejection is unhandled.
      written = writeAll(file, batch.chunks, size).then(
        () => (releasesChunks ? releaseChunks(batch.chunks) : undefined),
        (error) => error,
      )
      size += batch.bytes
    }
    failure ??= await written
  } catch (error) {
    failure = (await written) ?? error
  }
  return failure === undefined ? undefined : fileError(failure)
}
