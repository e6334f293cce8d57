// Content in a bucket of S3 or of a service with the same protocol. Several copies can share it.
import { mkdir } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Batch } from '../batches.ts'
import { offsetMismatch } from '../blob-error.ts'
import {
  type AbandonedUpload,
  type Appended,
  type AppendOptions,
  type BlobStore,
  isUploadId,
  type StoredBlob,
  type Upload,
} from '../blob-store.ts'
import type { Digest } from '../digest.ts'
import { makeHeldUploads } from '../held-uploads.ts'
import { makePace } from '../pace.ts'
import { makeRunningHashes, type RunningHashes } from '../running-hashes.ts'
import { appendToS3 } from './append.ts'
import { makeClient } from './client.ts'
import { openS3Content } from './content.ts'
import { webIdentityCredentials } from './credentials.ts'
import { discardAll, discardKnown } from './discard.ts'
import { makeExchange } from './exchange.ts'
import { finishInS3 } from './finish.ts'
import { makeKeys } from './keys.ts'
import { makeMultipart } from './multipart.ts'
import { makeObjects } from './objects.ts'
import { storageError } from './s3-failure.ts'
import { defaultLimits, type S3Options } from './s3-options.ts'
import type { S3Storage } from './storage.ts'
import { formatState, parseState, sizeOfState } from './upload-state.ts'

export async function openS3Store(options: S3Options, now: () => number = Date.now): Promise<BlobStore> {
  const limits = { ...defaultLimits, ...options.limits }
  const exchange = makeExchange(limits)
  // A read lasts as long as its client takes, so reads must not keep other requests waiting. The door limits how many
  // blobs are read at a time.
  const readExchange = makeExchange({ ...limits, maxSockets: Number.POSITIVE_INFINITY })
  const { credentials, spoolFolder, redirectSeconds } = options
  const getCredentials =
    'roleArn' in credentials
      ? webIdentityCredentials(credentials, options.region, exchange, now)
      : async () => credentials
  const client = makeClient(options, limits, exchange, getCredentials)
  const keys = makeKeys(options.prefix ?? '')
  const objects = makeObjects(client, options.bucket, limits.pageKeys)
  const readClient = makeClient(options, limits, readExchange, getCredentials)
  const readObjects = makeObjects(readClient, options.bucket, limits.pageKeys)
  const multipart = makeMultipart(client, options.bucket)
  const storage: S3Storage = { objects, multipart, keys, limits, spoolFolder, pace: makePace() }
  const hashes = makeRunningHashes(storage.pace)
  const { hold, isHeld } = makeHeldUploads()
  await mkdir(spoolFolder, { recursive: true, mode: 0o700 })

  return {
    size: (digest) => objects.size(keys.blob(digest)).catch(rethrow),
    read: (digest, range) => openS3Content(readObjects, keys.blob(digest), digest, range),
    delete: (digest, signal) => objects.remove(keys.blob(digest), signal).catch(rethrow),
    list: () => listBlobs(storage),
    ...(redirectSeconds === undefined
      ? {}
      : { redirectUrl: (digest) => client.presign(keys.blob(digest), redirectSeconds).catch(rethrow) }),
    async begin(id, algorithm = 'sha256') {
      keys.folder(id) // throws if the id is invalid
      hashes.begin(id, '', algorithm)
      return { id, size: 0, state: '' }
    },
    append: (upload, body, appendOptions = {}) =>
      hold(upload.id, () => appendToUpload(storage, hashes, upload, body, appendOptions)),
    uploadSize: async ({ state }) => sizeOfState(parseState(state), limits.partBytes),
    finish: (upload, digest) => hold(upload.id, () => finishUpload(storage, hashes, upload, digest)),
    async discard({ id }) {
      hashes.forget(id)
      await discardAll(storage, id).catch(rethrow)
    },
    async *abandoned(before) {
      for await (const upload of listUploads(storage)) {
        if (upload.modifiedAt < before && !isHeld(upload.id)) yield upload
      }
    },
    async check() {
      await objects.probe(keys.blobs).catch(rethrow)
    },
    async close() {
      hashes.clear()
      exchange.close()
      readExchange.close()
    },
  }
}

/** Appends to an upload and to its running hash, if this process has it. */
async function appendToUpload(
  storage: S3Storage,
  hashes: RunningHashes,
  { id, state }: Upload,
  body: Readable,
  options: AppendOptions,
): Promise<Appended> {
  const { partBytes } = storage.limits
  const before = parseState(state)
  const size = sizeOfState(before, partBytes)
  const { offset = size } = options
  if (offset !== size) throw offsetMismatch(offset, size)
  const running = hashes.take(id, state)
  const hash = async (batch: Batch) => running && hashes.update(running, batch)
  const appended = await appendToS3(storage, id, before, body, hash, options)
  const newState = formatState(appended.state)
  if (running && appended.isHashComplete) hashes.keep(id, newState, running)
  const upload: Upload = { id, size: sizeOfState(appended.state, partBytes), state: newState }
  return appended.failure ? { upload, failure: appended.failure } : { upload }
}

/** Makes the upload a blob and deletes the objects of the upload. Returns the size of the blob. */
async function finishUpload(
  storage: S3Storage,
  hashes: RunningHashes,
  { id, state }: Upload,
  digest: Digest,
): Promise<number> {
  const parsed = parseState(state)
  try {
    const size = await finishInS3(storage, id, parsed, digest, hashes.take(id, state))
    // If this fails, the remaining objects are listed as abandoned.
    await discardKnown(storage, id, parsed).catch(() => {})
    return size
  } catch (error) {
    const failure = storageError(error)
    if (failure.code === 'digest-mismatch') await discardAll(storage, id).catch(() => {})
    throw failure
  }
}

async function* listBlobs({ objects, keys }: S3Storage): AsyncGenerator<StoredBlob> {
  for await (const { key, size, modifiedAt } of objects.list(keys.blobs)) {
    const digest = keys.digestOf(key)
    if (digest) yield { digest, size, modifiedAt }
  }
}

/** Lists uploads with the time of their newest object. The objects of an upload follow each other. */
async function* listUploads({ objects, keys }: S3Storage): AsyncGenerator<AbandonedUpload> {
  let last: AbandonedUpload | undefined
  for await (const { key, modifiedAt } of objects.list(keys.uploads)) {
    const id = keys.uploadIdOf(key)
    if (!isUploadId(id)) continue // not an object of ours, such as the placeholder of the folder
    if (last && last.id !== id) yield last
    last = { id, modifiedAt: last?.id === id ? Math.max(last.modifiedAt, modifiedAt) : modifiedAt }
  }
  if (last) yield last
}

function rethrow(error: unknown): never {
  throw storageError(error)
}
