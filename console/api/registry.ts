// Reading the content of repos through the registry protocol (OCI Distribution 1.1), with the access token of the person.
// `repo` is always the uid of a repo.
import { Code, StemmaError } from '@stemma/api/json'
import type { Read } from './read.ts'
import { accessToken, fetchWithToken } from './session.ts'

export type Platform = { os?: string; architecture?: string; variant?: string }

export type Descriptor = {
  digest: string
  mediaType?: string
  size?: number
  artifactType?: string
  platform?: Platform
  annotations?: Record<string, string>
}

/** Describes an index if it has `manifests`, otherwise an image or another artifact. */
export type Manifest = {
  mediaType?: string
  artifactType?: string
  manifests?: Descriptor[]
  config?: Descriptor
  layers?: Descriptor[]
}

/** The registry accepts no larger manifest. */
const maxManifestBytes = 8 * 2 ** 20
const timeoutMs = 60_000

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')

/** `reference` is a digest or the name of a tag. */
export const readManifest = (repo: string, reference: string) =>
  readJson<Manifest>(repo, `manifests/${reference}`)

/** A page of the manifests that describe another one; `last` is the last digest of the page before. */
export async function getReferrers(
  repo: string,
  digest: string,
  last: string | undefined,
  signal: AbortSignal,
): Promise<{ manifests: Descriptor[]; hasMore: boolean }> {
  const path = `/v2/${repo}/referrers/${digest}${last === undefined ? '' : `?last=${last}`}`
  const { bytes, headers } = await get(path, maxManifestBytes, signal)
  const { manifests = [] } = parse<{ manifests?: Descriptor[] }>(bytes)
  return { manifests, hasMore: headers.get('link')?.includes('rel="next"') === true }
}

export type TagMove = { updateTimestamp: string; digest: string }

/** The images that a tag has named, the oldest first. */
export const readTagMoves = (repo: string, tag: string) =>
  readJson<{ history?: TagMove[] }>(repo, `_stemma/history/${tag}`)

/** The first tags that follow a text in byte order. */
export async function getTagsAfter(
  repo: string,
  after: string,
  limit: number,
  signal: AbortSignal,
): Promise<string[]> {
  const path = `/v2/${repo}/tags/list?n=${limit}&last=${encodeURIComponent(after)}`
  const { bytes } = await get(path, maxManifestBytes, signal)
  return parse<{ tags?: string[] | null }>(bytes).tags ?? []
}

/** Anyone who may push can have written the blob, so nothing is known about its fields. */
export const readJsonBlob = (repo: string, digest: string, maxBytes: number) =>
  readJson<unknown>(repo, `blobs/${digest}`, maxBytes)

/** Invalidated together with `tags`: only tags can change. Other content is named by its digest. */
function readJson<T>(repo: string, path: string, maxBytes = maxManifestBytes): Read<T> {
  return {
    queryKey: ['tags', 'registry', repo, path],
    queryFn: async ({ signal }) => parse<T>((await get(`/v2/${repo}/${path}`, maxBytes, signal)).bytes),
  }
}

export const getBlob = async (repo: string, digest: string, maxBytes: number) =>
  (await get(`/v2/${repo}/blobs/${digest}`, maxBytes)).bytes

type Content = { bytes: Uint8Array<ArrayBuffer>; headers: Headers }

/** Registry clients find these paths at the root of the host, also if the base URL has a path. */
async function get(path: string, maxBytes: number, signal?: AbortSignal): Promise<Content> {
  const headers = { authorization: `Bearer ${await accessToken()}`, accept: manifestTypes }
  const timeout = AbortSignal.timeout(timeoutMs)
  const limit = signal ? AbortSignal.any([signal, timeout]) : timeout
  try {
    const response = await fetchWithToken(location.origin + path, { headers, signal: limit })
    if (!response.ok) throw await errorOf(response)
    return { bytes: await readBounded(response, maxBytes), headers: response.headers }
  } catch (cause) {
    signal?.throwIfAborted()
    if (cause instanceof StemmaError) throw cause
    throw new StemmaError(Code.UNAVAILABLE, 'the content cannot be read', { cause })
  }
}

async function readBounded(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  const reader = response.body?.getReader()
  for (let next = await reader?.read(); next?.value; next = await reader?.read()) {
    chunks.push(next.value)
    size += next.value.length
    if (size <= maxBytes) continue
    await reader?.cancel()
    throw new StemmaError(Code.OUT_OF_RANGE, `the content has more than ${maxBytes} bytes; pull it instead`)
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer())
}

function parse<T>(bytes: Uint8Array): T {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as T
  } catch (cause) {
    throw new StemmaError(Code.DATA_LOSS, 'the content is not JSON', { cause })
  }
}

const codes: Record<number, Code> = {
  401: Code.UNAUTHENTICATED,
  403: Code.PERMISSION_DENIED,
  404: Code.NOT_FOUND,
  429: Code.RESOURCE_EXHAUSTED,
}

async function errorOf(response: Response): Promise<StemmaError> {
  const { status, headers } = response
  const body = (await response.json().catch(() => ({}))) as { errors?: { message?: string }[] }
  const message = body.errors?.[0]?.message ?? `the registry answered with HTTP ${status}`
  const requestId = headers.get('x-request-id') ?? undefined
  return new StemmaError(codes[status] ?? Code.UNAVAILABLE, message, { status, requestId })
}
