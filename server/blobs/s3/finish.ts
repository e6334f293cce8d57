import { createHash } from 'node:crypto'
import { digestMismatch, uploadNotFound } from '../blob-error.ts'
import { algorithmOf, type Digest, hexOf } from '../digest.ts'
import { hashStream } from '../hash-content.ts'
import type { RunningHash } from '../running-hashes.ts'
import { copyObject } from './copy.ts'
import { isMissingObject } from './s3-failure.ts'
import type { S3Storage } from './storage.ts'
import { sizeOfState, type UploadState } from './upload-state.ts'

/**
 * Publishes an upload under its digest. Returns its size. If it throws `digest-mismatch`, the
 * caller must discard the upload.
 */
export async function finishInS3(
  storage: S3Storage,
  id: string,
  state: UploadState,
  digest: Digest,
  running: RunningHash | undefined,
): Promise<number> {
  const { objects, keys, limits } = storage
  const algorithm = algorithmOf(digest)
  const size = sizeOfState(state, limits.partBytes)
  const computed = size === 0 ? { algorithm, hash: createHash(algorithm) } : running
  const isDigestKnown = computed?.algorithm === algorithm
  if (isDigestKnown) checkDigest(digest, computed.hash.digest('hex'))
  if (size === 0) {
    await objects.put(keys.blob(digest), '')
    return 0
  }
  try {
    const source = await gather(storage, id, state, size)
    if (!isDigestKnown)
      checkDigest(digest, await hashStream(await objects.get(source), algorithm, storage.pace))
    await copyObject(storage, source, size, keys.blob(digest))
  } catch (error) {
    throw isMissingObject(error) ? uploadNotFound(id) : error
  }
  return size
}

function checkDigest(digest: Digest, hex: string): void {
  if (hex !== hexOf(digest)) throw digestMismatch(digest, `${algorithmOf(digest)}:${hex}`)
}

/** Makes the upload one object and returns its key. An upload without a full part has only a tail. */
async function gather(storage: S3Storage, id: string, state: UploadState, size: number): Promise<string> {
  const { keys, objects } = storage
  const { multipartId, tail } = state
  if (multipartId === undefined) return keys.tail(id, tail?.index ?? 0)
  await assemble(storage, id, multipartId, state).catch((error) => {
    // The multipart upload is gone: an earlier finish assembled it and then failed, or the answer
    // of S3 was lost.
    if (!isMissingObject(error)) throw error
  })
  const assembled = await objects.size(keys.data(id))
  if (assembled === undefined) throw uploadNotFound(id)
  if (assembled !== size) throw new Error(`the object has ${assembled} bytes instead of ${size}`)
  return keys.data(id)
}

async function assemble(
  { keys, multipart }: S3Storage,
  id: string,
  multipartId: string,
  { etags, tail }: UploadState,
): Promise<void> {
  const key = keys.data(id)
  const last =
    tail && (await multipart.copyPart(key, multipartId, etags.length + 1, keys.tail(id, tail.index)))
  await multipart.complete(key, multipartId, last === undefined ? etags : [...etags, last])
}
