// Blobs: pull and delete.
import { Content } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { Code } from '../aip/code.ts'
import { registryError } from '../aip/registry-error.ts'
import { BlobError } from '../blobs/blob-error.ts'
import type { ByteRange } from '../blobs/blob-store.ts'
import type { Digest } from '../blobs/digest.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen } from '../wire/maybe-promise.ts'
import { headersOf } from './answers.ts'
import { requestedRange } from './byte-range.ts'
import { call } from './call.ts'
import type { Exchange, RegistryDependencies, RegistryResponse } from './door-context.ts'
import { repoOf } from './names.ts'

export function getBlob(
  deps: RegistryDependencies,
  exchange: Exchange,
  digest: Digest,
): MaybePromise<RegistryResponse | undefined> {
  let repo = ''
  const read = () =>
    andThen(repoOf(deps, exchange), (uid) => {
      repo = uid
      return { repo, digest }
    })
  return andThen(call(deps, exchange, Content.method.getBlob, read), (blob) => {
    const size = Number(blob.size)
    if (exchange.request.method !== 'HEAD') return getContent(deps, exchange, repo, digest, size)
    const answer = { status: 200, headers: blobHeaders(digest), size }
    return deps.lostBlobs.isNoted(digest) ? requireStored(deps, digest).then(() => answer) : answer
  })
}

async function requireStored({ lostBlobs }: RegistryDependencies, digest: Digest): Promise<void> {
  if (await lostBlobs.isLost(digest)) throw lost(digest)
}

const blobHeaders = (digest: Digest) => ({
  'content-type': 'application/octet-stream',
  'docker-content-digest': digest,
  'accept-ranges': 'bytes',
  // The content of a digest never changes, but another client may not be allowed to read it.
  'cache-control': 'private, max-age=31536000',
  etag: `"${digest}"`,
})

async function getContent(
  deps: RegistryDependencies,
  exchange: Exchange,
  repo: string,
  digest: Digest,
  size: number,
): Promise<RegistryResponse | undefined> {
  const { request, envelope } = exchange
  const range = requestedRange(request.headers.range, size)
  if (range === 'unsatisfiable') throw unsatisfiable(size)
  if (deps.blobs.redirectUrl && !isFromOwnPage(request)) {
    if (!(await deps.lostBlobs.isStored(digest))) throw lost(digest)
    return redirectTo(await deps.blobs.redirectUrl(digest), digest)
  }
  const end = deps.runningPulls.start(envelope.address, repo)
  try {
    await sendBlob(deps, exchange, digest, size, range)
  } finally {
    end()
  }
  return undefined
}

async function sendBlob(
  deps: RegistryDependencies,
  { response, headers }: Exchange,
  digest: Digest,
  size: number,
  range: ByteRange | undefined,
): Promise<void> {
  const content = await deps.blobs.read(digest, range).catch((error: unknown) => {
    if (!(error instanceof BlobError) || error.code !== 'not-found') throw error
    deps.lostBlobs.note(digest)
    throw lost(digest)
  })
  const own = {
    ...blobHeaders(digest),
    'content-length': String(content.length),
    ...(range && { 'content-range': `bytes ${range.first}-${range.last}/${size}` }),
  }
  response.writeHead(range ? 206 : 200, headersOf(headers, own))
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  await content.sendTo(response, closed.signal)
  response.end()
}

/**
 * Whether a page of this server has sent the request. Its Content-Security-Policy blocks a redirect
 * to another origin.
 */
const isFromOwnPage = ({ headers }: Exchange['request']) => headers['sec-fetch-site'] === 'same-origin'

/** The blob was deleted after the call had found it, or the storage has lost it. */
const lost = (digest: Digest) =>
  registryError('BLOB_UNKNOWN', Code.NOT_FOUND, `the content of blob ${digest} is missing`)

/** The URL lets anyone read the blob for some minutes. The client repeats its `Range` there. */
const redirectTo = (location: string, digest: Digest): RegistryResponse => ({
  status: 307,
  headers: { location, 'docker-content-digest': digest, 'cache-control': 'no-store' },
})

const unsatisfiable = (size: number) =>
  registryError('RANGE_INVALID', Code.OUT_OF_RANGE, `the range contains none of the blob's ${size} bytes`, {
    ...{ http: 416, headers: { 'content-range': `bytes */${size}` } },
  })

export async function deleteBlob(
  deps: RegistryDependencies,
  exchange: Exchange,
  digest: Digest,
): Promise<RegistryResponse> {
  await call(deps, exchange, Content.method.deleteBlob, () =>
    andThen(repoOf(deps, exchange), (repo) => ({ repo, digest })),
  )
  return { status: 202 }
}
