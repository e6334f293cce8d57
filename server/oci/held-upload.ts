// An upload that one request uses: its lease, and the API calls that record what has arrived.
import type { Upload as UploadReply } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { Content } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { isQuotaExceeded } from '../aip/errors.ts'
import { BlobError } from '../blobs/blob-error.ts'
import type { Upload } from '../blobs/blob-store.ts'
import type { Digest } from '../blobs/digest.ts'
import { andThen } from '../wire/maybe-promise.ts'
import { call } from './call.ts'
import type { Exchange, RegistryDependencies } from './door-context.ts'
import { repoOf } from './names.ts'
import { keepLease } from './upload-lease.ts'

type Reservation = Pick<UploadReply, 'reserved' | 'maxSize'>

/** An upload that this request alone may use. The fields that are not read-only change as the request proceeds. */
export type HeldUpload = {
  readonly repo: string
  readonly lease: string
  /** The uid of the caller. */
  readonly identity: string
  upload: Upload
  /**
   * For this upload, `reserved` bytes count against the limits of groups. More must be reserved
   * before the upload exceeds `maxSize` bytes, unless `maxSize` is 0.
   */
  reservation: Reservation
  /** False when other requests may use the upload, or when it has ended. */
  isHeld: boolean
  /**
   * Whether the storage may already have stored the bytes as the blob. `finish` can fail after it
   * has stored them.
   */
  mayBePublished: boolean
}

/** `digest` is that of the blob, if the request finishes the upload. */
export async function openUpload(
  deps: RegistryDependencies,
  exchange: Exchange,
  id: string,
  digest = '',
): Promise<HeldUpload> {
  let repo = ''
  try {
    const reply = await call(deps, exchange, Content.method.openUpload, () =>
      andThen(repoOf(deps, exchange), (uid) => {
        repo = uid
        return { repo, id, digest, ...lengthOf(exchange) }
      }),
    )
    const { size, state, lease, identity } = reply
    return {
      ...{ repo, lease, identity, upload: { id, size: Number(size), state } },
      ...{ reservation: reply, isHeld: true, mayBePublished: false },
    }
  } catch (error) {
    if (isQuotaExceeded(error)) await endUpload(deps, exchange, { repo, id, lease: '' })
    throw error
  }
}

/** The length of the body; nothing if it is not known. */
export function lengthOf({ request: { headers } }: Exchange): { length?: bigint } {
  if (headers['transfer-encoding'] !== undefined) return {}
  return { length: BigInt(headers['content-length'] ?? 0) }
}

/** Ends an upload that nobody will continue, so that what has arrived of it takes no space and does not count any more. */
async function endUpload(
  deps: RegistryDependencies,
  exchange: Exchange,
  upload: { repo: string; id: string; lease: string; mayBePublished?: boolean },
): Promise<void> {
  const { id, lease } = upload
  try {
    // With a lease, the bytes are deleted first: on a full disk, that makes space for deleting the row.
    // Without a lease, the row is deleted first: if another request uses the upload, `cancelUpload` throws.
    if (lease !== '') await deps.blobs.discard({ id })
    await call(deps, exchange, Content.method.cancelUpload, () => upload)
    if (lease === '') await deps.blobs.discard({ id })
  } catch {
    // It is collected later.
  }
}

/**
 * Lets `use` work on the upload. If it fails, what has arrived is stored, and the next request can
 * use the upload. If a quota is exceeded, or the client has no URL with which it could continue the
 * upload (not `isResumable`), the upload ends.
 */
export async function whileHeld(
  deps: RegistryDependencies,
  exchange: Exchange,
  held: HeldUpload,
  use: (signal: AbortSignal) => Promise<void>,
  isResumable = true,
): Promise<void> {
  const { signal, stop } = keepLease(async () => saveUpload(deps, exchange, held, true))
  try {
    await use(signal)
  } catch (error) {
    const { repo, lease, upload, mayBePublished } = held
    if (held.isHeld && (!isResumable || isQuotaExceeded(error)))
      await endUpload(deps, exchange, { repo, id: upload.id, lease, mayBePublished })
    // If this fails, the corridor reports it, and the upload is free when its lease expires.
    else if (held.isHeld) await saveUpload(deps, exchange, held).catch(() => {})
    throw error
  } finally {
    stop()
  }
}

/**
 * Stores what has arrived. Unless `keep`, another request can use the upload afterwards. `wanted`
 * is the minimum number of bytes to reserve for the upload; 0 if the reserved bytes are enough.
 */
export async function saveUpload(
  deps: RegistryDependencies,
  exchange: Exchange,
  held: HeldUpload,
  keep = false,
  wanted = 0,
): Promise<void> {
  const { repo, lease, upload, reservation, mayBePublished } = held
  const { id, size, state } = upload
  const { reserved } = reservation
  const saved = await call(deps, exchange, Content.method.saveUpload, () => ({
    ...{ repo, keep, upload: { id, size: BigInt(size), state, lease, reserved }, wanted: BigInt(wanted) },
    mayBePublished,
  }))
  if (wanted > 0) held.reservation = saved
  if (!keep) held.isHeld = false
}

/** Stores the upload as a blob of its repo. If the digest is not that of the content, the upload is over. */
export async function finishBlob(
  deps: RegistryDependencies,
  exchange: Exchange,
  held: HeldUpload,
  digest: Digest,
): Promise<void> {
  const { repo, lease, upload } = held
  const { id } = upload
  try {
    held.mayBePublished = true
    const size = BigInt(await deps.blobs.finish(upload, digest))
    held.isHeld = false
    await call(deps, exchange, Content.method.finishUpload, () => ({ repo, id, digest, size, lease }))
  } catch (error) {
    if (!(error instanceof BlobError) || error.code !== 'digest-mismatch') throw error
    held.isHeld = false
    await call(deps, exchange, Content.method.cancelUpload, () => ({ repo, id, lease }))
    throw error
  }
}
