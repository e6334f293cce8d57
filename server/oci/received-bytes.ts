// Moves the bytes of an upload to the storage as they arrive.
import { Code } from '../aip/code.ts'
import { registryError } from '../aip/registry-error.ts'
import { BlobError, tooLarge } from '../blobs/blob-error.ts'
import type { AppendOptions, Upload } from '../blobs/blob-store.ts'
import { chunkRange, uploadedRange } from './byte-range.ts'
import type { Exchange, RegistryDependencies } from './door-context.ts'
import type { HeldUpload } from './held-upload.ts'
import { saveUpload } from './held-upload.ts'
import type { MinimumRate } from './slow-body.ts'
import { watchBody } from './slow-body.ts'

/** The largest blob. Layers of images are far smaller. */
const maxBlobBytes = 10 * 2 ** 30

/** Where the client continues, and what has arrived. */
export const uploadHeaders = ({ name }: Exchange, { id, size }: Upload): Record<string, string> => ({
  ...{ location: `/v2/${name}/blobs/uploads/${id}`, range: uploadedRange(size), 'docker-upload-uuid': id },
})

/** Appends the body of the request. What has arrived is kept, even if the client disconnects. */
export async function receiveBody(
  deps: RegistryDependencies,
  exchange: Exchange,
  held: HeldUpload,
  signal: AbortSignal,
): Promise<void> {
  const { request } = exchange
  const { upload } = held
  const offset = offsetOf(exchange, upload)
  // Refused before the body is read; `append` enforces the limit for bodies of unknown length.
  if (upload.size + Number(request.headers['content-length'] ?? 0) > maxBlobBytes)
    throw tooLarge(maxBlobBytes)
  const end = deps.runningUploads.start(held.identity, held.repo)
  try {
    await append(deps, exchange, held, { offset, signal })
  } finally {
    end()
  }
}

async function append(
  deps: RegistryDependencies,
  exchange: Exchange,
  held: HeldUpload,
  options: AppendOptions & { signal: AbortSignal },
): Promise<void> {
  const { request, response } = exchange
  const { upload } = held
  const watch = watchBody(request, deps.minimumRate)
  let refusal: unknown
  const maxBytes = () => Math.min(maxBlobBytes, Number(held.reservation.maxSize) || maxBlobBytes)
  const extend = async (bytes: number) => {
    if (bytes <= maxBlobBytes)
      await saveUpload(deps, exchange, held, true, bytes).catch((error: unknown) => {
        refusal = error
      })
    return maxBytes()
  }
  deps.onLongBody(request)
  deps.onBody(request, response)
  try {
    const signal = AbortSignal.any([options.signal, watch.signal])
    const limited = { ...options, signal, maxBytes: maxBytes(), extend, releasesChunks: true }
    const { upload: after, failure } = await deps.blobs.append(upload, request, limited)
    held.upload = after
    if (failure) throw watch.signal.aborted ? slowBody(after, deps.minimumRate) : (refusal ?? failure)
  } catch (error) {
    if (!(error instanceof BlobError) || error.code !== 'offset-mismatch') throw error
    throw outOfOrder(exchange, { ...upload, size: await deps.blobs.uploadSize(upload) })
  } finally {
    watch.stop()
  }
}

/** Clients try again after this status. */
const slowBody = ({ size }: Upload, { bytes, periodMs }: MinimumRate) =>
  registryError(
    'BLOB_UPLOAD_INVALID',
    Code.DEADLINE_EXCEEDED,
    `fewer than ${bytes} bytes arrived in ${periodMs / 1000} seconds; the upload has ${size} bytes, and can be continued`,
    { http: 408 },
  )

/** The position of the first byte of a chunk; undefined for a body that is appended wherever the upload ends. */
function offsetOf(exchange: Exchange, upload: Upload): number | undefined {
  const { headers } = exchange.request
  const header = headers['content-range']
  if (header === undefined) return undefined
  const range = chunkRange(header)
  if (!range) throw outOfOrder(exchange, upload)
  const length = headers['content-length']
  if (length !== undefined && Number(length) !== range.last - range.first + 1)
    throw registryError(
      'SIZE_INVALID',
      Code.INVALID_ARGUMENT,
      `Content-Range has ${range.last - range.first + 1} bytes, and Content-Length is ${length}`,
    )
  return range.first
}

const outOfOrder = (exchange: Exchange, upload: Upload) =>
  registryError(
    'RANGE_INVALID',
    Code.OUT_OF_RANGE,
    `the upload has ${upload.size} bytes, and the next chunk must have a Content-Range that begins with ${upload.size}-`,
    { http: 416, headers: uploadHeaders(exchange, upload) },
  )
