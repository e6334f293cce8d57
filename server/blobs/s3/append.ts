import type { Readable } from 'node:stream'
import { type Batch, gatherBatches } from '../batches.ts'
import { type BlobError, smallChunks, tooLarge, uploadNotFound } from '../blob-error.ts'
import type { AppendOptions } from '../blob-store.ts'
import { openPartSpool } from './part-spool.ts'
import { makePartWriter } from './part-writer.ts'
import { isMissingObject, storageError } from './s3-failure.ts'
import { maxParts } from './s3-options.ts'
import type { S3Storage } from './storage.ts'
import { sizeOfState, tailWritesOf, type UploadState } from './upload-state.ts'

export type S3Appended = { state: UploadState; failure?: BlobError; isHashComplete: boolean }

/** Appends to an upload. Returns its state, which describes only bytes that are in S3. */
export async function appendToS3(
  storage: S3Storage,
  id: string,
  before: UploadState,
  body: Readable,
  hash: (batch: Batch) => Promise<void>,
  options: AppendOptions,
): Promise<S3Appended> {
  const { partBytes, maxTailWrites } = storage.limits
  if (tailWritesOf(before) >= maxTailWrites) throw smallChunks(maxTailWrites, partBytes)
  const start = sizeOfState(before, partBytes)
  await using spool = await openPartSpool(storage.spoolFolder, partBytes)
  const writer = makePartWriter(storage, spool, id, before)
  await writer.loadTail().catch((error) => {
    throw isMissingObject(error) ? uploadNotFound(id) : storageError(error)
  })
  let limit = Math.min(options.maxBytes ?? Number.POSITIVE_INFINITY, partBytes * maxParts)
  let received = 0
  let failure: unknown
  try {
    for await (const batch of gatherBatches(body, options.signal)) {
      const size = start + received + batch.bytes
      if (size > limit) limit = Math.min((await options.extend?.(size)) ?? limit, partBytes * maxParts)
      if (size > limit) throw tooLarge(limit)
      await hash(batch)
      received += batch.bytes
      await writer.write(batch.chunks)
    }
  } catch (error) {
    failure = error
  }
  // Also after a failure: what arrived is kept.
  await writer.flush().catch((error) => {
    failure = error
  })
  const state = writer.state()
  const isHashComplete = sizeOfState(state, partBytes) === start + received
  if (failure === undefined) return { state, isHashComplete }
  return { state, isHashComplete, failure: storageError(failure) }
}
