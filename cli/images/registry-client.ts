// Reads manifests and referrers through the public registry protocol (OCI Distribution 1.1).
import { createHash } from 'node:crypto'
import { unreachable } from '../auth/authorized-fetch.ts'
import { exitCodes } from '../exit-codes.ts'
import { Failure, NotSignedIn } from '../failure.ts'
import { isDigest } from './reference.ts'

type Json = Record<string, unknown>

export type Descriptor = {
  mediaType: string
  digest: string
  size: number
  artifactType?: string
  platform?: { os?: string; architecture?: string; variant?: string }
  annotations?: Record<string, string>
}

export type Manifest = Descriptor & { content: Json }

export type RegistryClient = {
  manifest(reference: string): Promise<Manifest>
  /** The manifests that describe another one, such as its signatures. */
  referrers(digest: string): Promise<Descriptor[]>
  /** The first `limit` tags that follow `after` in byte order. */
  tagsAfter(after: string, limit: number): Promise<string[]>
  /** A JSON blob, such as the config of an image. Undefined if it is not JSON. */
  blob(digest: string): Promise<Json | undefined>
}

/** `name` is that of the repo, `token` returns an access token. */
export type Source = { api: string; name: string; token(): Promise<string>; fetch: typeof fetch }

const timeoutMs = 30_000
const maxBytes = 8 * 2 ** 20
const maxReferrerPages = 20

export const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]

export function openRegistryClient({ api, name, token, fetch }: Source): RegistryClient {
  async function get(path: string): Promise<{ headers: Headers; bytes: Buffer }> {
    const url = new URL(path, api).href
    const headers = { authorization: `Bearer ${await token()}`, accept: manifestTypes.join(', ') }
    try {
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(timeoutMs) })
      const bytes = await readBounded(response)
      if (!response.ok) throw failureOf(response.status, bytes)
      return { headers: response.headers, bytes }
    } catch (error) {
      throw error instanceof Failure ? error : unreachable(url, error as Error)
    }
  }

  async function getContent(kind: 'manifests' | 'blobs', reference: string) {
    const { headers, bytes } = await get(`/v2/${name}/${kind}/${reference}`)
    const digest = isDigest(reference) ? reference : digestOf(bytes, 'sha256')
    if (digestOf(bytes, digest.split(':')[0] ?? '') !== digest)
      throw new Failure(`the server sent content that does not match ${digest}`)
    return { headers, bytes, digest }
  }

  return {
    async manifest(reference) {
      const { headers, bytes, digest } = await getContent('manifests', reference)
      const mediaType = headers.get('content-type') ?? ''
      return { mediaType, digest, size: bytes.length, content: parseJson(bytes) }
    },

    async referrers(digest) {
      const found: Descriptor[] = []
      let path: string | undefined = `/v2/${name}/referrers/${digest}`
      for (let page = 0; path !== undefined && page < maxReferrerPages; page++) {
        const { headers, bytes } = await get(path)
        found.push(...descriptorsIn(parseJson(bytes).manifests))
        path = nextPath(headers)
      }
      return found
    },

    async tagsAfter(after, limit) {
      const { bytes } = await get(
        `/v2/${name}/tags/list?${new URLSearchParams({ n: String(limit), last: after })}`,
      )
      const { tags } = parseJson(bytes)
      return Array.isArray(tags) ? tags.map(String) : []
    },

    blob: async (digest) => jsonIn((await getContent('blobs', digest)).bytes),
  }
}

const digestOf = (bytes: Uint8Array, algorithm: string): string =>
  `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`

async function readBounded(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw new Failure(`the server sent more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parseJson(bytes: Buffer): Json {
  const content = jsonIn(bytes)
  if (content) return content
  throw new Failure('the server sent a response that is not JSON', exitCodes.unavailable)
}

function jsonIn(bytes: Buffer): Json | undefined {
  try {
    const content: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof content === 'object' && content !== null ? (content as Json) : undefined
  } catch {
    return undefined
  }
}

/** The descriptors in a list. Elements that are not descriptors are left out. */
export const descriptorsIn = (list: unknown): Descriptor[] =>
  Array.isArray(list) ? list.filter((each): each is Descriptor => isDigest(each?.digest)) : []

/** Only a path, so that the token is not sent to another server. */
function nextPath(headers: Headers): string | undefined {
  const [, path] = /^<(\/v2\/[^>]*)>;\s*rel="?next"?/.exec(headers.get('link') ?? '') ?? []
  return path
}

const exitCodesByStatus: Record<number, number> = {
  400: exitCodes.usage,
  403: exitCodes.denied,
  404: exitCodes.notFound,
  409: exitCodes.usage,
  429: exitCodes.unavailable,
}

function failureOf(status: number, bytes: Buffer): Failure {
  const message = messageIn(bytes) ?? `HTTP ${status}`
  if (status === 401) return new NotSignedIn(message)
  return new Failure(
    message,
    exitCodesByStatus[status] ?? (status >= 500 ? exitCodes.unavailable : exitCodes.failed),
  )
}

function messageIn(bytes: Buffer): string | undefined {
  try {
    return JSON.parse(bytes.toString('utf8')).errors[0].message
  } catch {
    return undefined
  }
}
