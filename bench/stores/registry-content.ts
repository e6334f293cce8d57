// An image for benchmarks of registries.
import { createHash } from 'node:crypto'

/** Content of this size. Equal sizes have equal content. */
export function blobOf(size: number): { content: Buffer; digest: string } {
  const content = Buffer.alloc(size, 'The content of a layer of an image. ')
  return { content, digest: digestOf(content) }
}

const digestOf = (content: string | Buffer) => `sha256:${createHash('sha256').update(content).digest('hex')}`

export const manifestType = 'application/vnd.oci.image.manifest.v1+json'

/** The URL of a repo below `/v2/`, and the Authorization header of requests to it. */
export type BenchRepo = { url: string; authorization: string }

/** Pushes a blob of each size, and a manifest of them with the tag `latest`. */
export async function pushImage(repo: BenchRepo, sizes: readonly number[]): Promise<void> {
  const layers = []
  for (const size of sizes) layers.push(await pushBlob(repo, blobOf(size).content, layerType))
  const config = await pushBlob(repo, Buffer.from('{}'), configType)
  const body = JSON.stringify({ schemaVersion: 2, mediaType: manifestType, config, layers })
  await send(repo, 'PUT', '/manifests/latest', 201, { body, type: manifestType })
}

const layerType = 'application/vnd.oci.image.layer.v1.tar'
const configType = 'application/vnd.oci.image.config.v1+json'

async function pushBlob(repo: BenchRepo, content: Buffer, mediaType: string) {
  const digest = digestOf(content)
  const begun = await send(repo, 'POST', '/blobs/uploads/', 202, { body: '', type: '' })
  const location = new URL(begun.headers.get('location') ?? '', repo.url)
  location.searchParams.set('digest', digest)
  await send({ ...repo, url: location.href }, 'PUT', '', 201, {
    body: content,
    type: 'application/octet-stream',
  })
  return { mediaType, digest, size: content.length }
}

async function send(
  { url, authorization }: BenchRepo,
  method: string,
  path: string,
  status: number,
  { body, type }: { body: string | Buffer; type: string },
): Promise<Response> {
  const headers = { authorization, 'content-type': type }
  const response = await fetch(`${url}${path}`, { method, headers, body: new Uint8Array(Buffer.from(body)) })
  if (response.status !== status)
    throw new Error(`${method} ${url}${path} was answered with ${response.status}: ${await response.text()}`)
  await response.arrayBuffer()
  return response
}
