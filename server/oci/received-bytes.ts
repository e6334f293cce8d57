// Moves the bytes of an upload to the storage as they arrive. Calls of the API before and after say whether they may be
// stored, and what has been.
import { Content } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { Code } from '../aip/code.ts'
import { registryError } from '../aip/registry-error.ts'
import { BlobError, tooLarge } from '../blobs/blob-error.ts'
import type { Upload } from '../blobs/blob-store.ts'
import type { Digest } from '../blobs/digest.ts'
import { andThen } from '../wire/maybe-promise.ts'
import { chunkRange, uploadedRange } from './byte-range.ts'
import { call } from './call.ts'
import type { Exchange, RegistryDependencies } from './door-context.ts'
import { repoOf } from './names.ts'

/** The largest blob. Layers of images are far smaller. */
const maxBlobBytes = 10 * 2 ** 30

/** An upload, and the uid of its repo. */
export type OpenUpload = { repo: string; upload: Upload }

export async function openUpload(
  deps: RegistryDependencies,
  exchange: Exchange,
  id: string,
): Promise<OpenUpload> {
  let repo = ''
  const { size, state } = await call(deps, exchange, Content.method.getUpload, () =>
    andThen(repoOf(deps, exchange), (uid) => {
      repo = uid
      return { repo, id }
    }),
  )
  return { repo, upload: { id, size: Number(size), state } }
}

/** Where the client continues, and what has arrived. */
export const uploadHeaders = ({ name }: Exchange, { id, size }: Upload): Record<string, string> => ({
  ...{ location: `/v2/${name}/blobs/uploads/${id}`, range: uploadedRange(size), 'docker-upload-uuid': id },
})

/** Appends the body of the request. What has arrived is kept, even if the client disconnects. */
export async function receiveBody(
  deps: RegistryDependencies,
  exchange: Exchange,
  { repo, upload }: OpenUpload,
): Promise<OpenUpload> {
  const { request } = exchange
  const offset = offsetOf(exchange, upload)
  // Refused before the body is read; `append` enforces the limit for bodies of unknown length.
  if (upload.size + Number(request.headers['content-length'] ?? 0) > maxBlobBytes)
    throw tooLarge(maxBlobBytes)
  deps.onLongBody(request)
  const options = { offset, maxBytes: maxBlobBytes }
  const appended = await deps.blobs.append(upload, request, options).catch(async (error: unknown) => {
    if (!(error instanceof BlobError) || error.code !== 'offset-mismatch') throw error
    throw outOfOrder(exchange, { ...upload, size: await deps.blobs.uploadSize(upload) })
  })
  const { id, size, state } = appended.upload
  await call(deps, exchange, Content.method.saveUpload, () => ({
    ...{ repo, upload: { id, size: BigInt(size), state } },
  }))
  if (appended.failure) throw appended.failure
  return { repo, upload: appended.upload }
}

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

/** Stores the upload as a blob of its repo. If the digest is not that of the content, the upload is over. */
export async function finishBlob(
  deps: RegistryDependencies,
  exchange: Exchange,
  { repo, upload }: OpenUpload,
  digest: Digest,
): Promise<void> {
  const { id } = upload
  try {
    const size = BigInt(await deps.blobs.finish(upload, digest))
    await call(deps, exchange, Content.method.finishUpload, () => ({ repo, id, digest, size }))
  } catch (error) {
    if (!(error instanceof BlobError)) throw error
    if (error.code === 'digest-mismatch')
      await call(deps, exchange, Content.method.cancelUpload, () => ({ repo, id }))
    throw error
  }
}
