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
    const { source, hasStateBytes } = await gather(storage, id, state, size)
    if (!isDigestKnown || !hasStateBytes)
      checkDigest(digest, await hashStream(await objects.get(source), algorithm, storage.pace))
    await copyObject(storage, id, source, size, digest)
  } catch (error) {
    throw isMissingObject(error) ? uploadNotFound(id) : error
  }
  return size
}

function checkDigest(digest: Digest, hex: string): void {
  if (hex !== hexOf(digest)) throw digestMismatch(digest, `${algorithmOf(digest)}:${hex}`)
}

/** `hasStateBytes` is whether the object certainly has the bytes that the state describes, and not others of that size. */
type Gathered = { source: string; hasStateBytes: boolean }

/** Makes the upload one object that never changes. An upload without a full part has only a tail. */
async function gather(storage: S3Storage, id: string, state: UploadState, size: number): Promise<Gathered> {
  const { keys, objects } = storage
  const { multipartId, dataName, tail } = state
  if (multipartId === undefined) return { source: keys.tail(id, tail?.name ?? ''), hasStateBytes: true }
  const hasStateBytes = await assemble(storage, id, multipartId, state).then(
    () => true,
    (error) => {
      // The multipart upload is gone: an earlier finish assembled it and then failed, the answer of
      // S3 was lost, or another copy assembled it from other parts.
      if (!isMissingObject(error)) throw error
      return false
    },
  )
  const source = keys.data(id, dataName)
  const assembled = await objects.size(source)
  if (assembled === undefined) throw uploadNotFound(id)
  if (assembled !== size) throw new Error(`the object has ${assembled} bytes instead of ${size}`)
  return { source, hasStateBytes }
}

async function assemble(
  { keys, multipart }: S3Storage,
  id: string,
  multipartId: string,
  { dataName, etags, tail }: UploadState,
): Promise<void> {
  const key = keys.data(id, dataName)
  const last =
    tail && (await multipart.copyPart(key, multipartId, etags.length + 1, keys.tail(id, tail.name)))
  await multipart.complete(key, multipartId, last === undefined ? etags : [...etags, last])
}
