// A client of the registry protocol.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'

export const digestOf = (content: string | Uint8Array, algorithm = 'sha256') =>
  `${algorithm}:${createHash(algorithm).update(content).digest('hex')}`

export const types = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
}

export const descriptor = (content: string, mediaType = types.layer) => ({
  ...{ mediaType, digest: digestOf(content), size: Buffer.byteLength(content) },
})

/** An image with one layer, as the JSON of its manifest. */
export const imageOf = (layer: string, fields: object = {}) =>
  JSON.stringify({
    ...{ schemaVersion: 2, mediaType: types.manifest, config: descriptor('{}', types.config) },
    layers: [descriptor(layer)],
    ...fields,
  })

export type OciClient = ReturnType<typeof ociClient>

/** Without a token, the client sends no credentials. */
export function ociClient(url: string, token: string) {
  const send = (method: string, path: string, init: RequestInit = {}) =>
    fetch(new URL(path, url), {
      ...init,
      method,
      headers: { ...(token !== '' && { authorization: `Bearer ${token}` }), ...init.headers },
    })

  /** Sends a request and fails unless it is answered with this status. */
  async function expect(status: number, method: string, path: string, init: RequestInit = {}) {
    const response = await send(method, path, init)
    const text = await response.clone().text()
    assert.equal(response.status, status, `${method} ${path}: ${text}`)
    return response
  }

  /** The status and the error code of the response, such as `403 DENIED`. */
  async function errorOf(method: string, path: string, init: RequestInit = {}): Promise<string> {
    const response = await send(method, path, init)
    const { errors } = (await response.json()) as { errors: { code: string; message: string }[] }
    return `${response.status} ${errors[0]?.code}`
  }

  async function begin(name: string, query = ''): Promise<string> {
    const response = await expect(202, 'POST', `/v2/${name}/blobs/uploads/${query}`)
    return response.headers.get('location') ?? ''
  }

  const pushBlob = (name: string, content: string, algorithm = 'sha256') =>
    expect(201, 'POST', `/v2/${name}/blobs/uploads/?digest=${digestOf(content, algorithm)}`, {
      body: content,
    })

  const pushManifest = (name: string, reference: string, content: string, type = types.manifest) =>
    expect(201, 'PUT', `/v2/${name}/manifests/${reference}`, {
      ...{ body: content, headers: { 'content-type': type } },
    })

  return {
    ...{ send, expect, errorOf, begin, pushBlob, pushManifest },
    /** Pushes an image with its blobs, and returns its digest. */
    async pushImage(name: string, reference: string, layer: string, fields: object = {}): Promise<string> {
      for (const content of ['{}', layer]) await pushBlob(name, content)
      const manifest = imageOf(layer, fields)
      await pushManifest(name, reference, manifest)
      return digestOf(manifest)
    },
  }
}

/** An index of manifests, as JSON. Each entry is the content of a manifest with its platform, if it has one. */
export const indexOf = (entries: readonly { manifest: string; type?: string; platform?: object }[]) =>
  JSON.stringify({
    ...{ schemaVersion: 2, mediaType: types.index },
    manifests: entries.map(({ manifest, type = types.manifest, platform }) => ({
      ...descriptor(manifest, type),
      ...(platform && { platform }),
    })),
  })

/** Pushes blobs and an image that consists of them, and returns the JSON of its manifest. */
export async function pushParts(
  { pushBlob, pushManifest }: OciClient,
  name: string,
  tag: string,
  { config, layers, fields = {} }: { config: string; layers: readonly string[]; fields?: object },
): Promise<string> {
  for (const content of [config, ...layers]) await pushBlob(name, content)
  const manifest = imageOf('', {
    config: descriptor(config, types.config),
    layers: layers.map((layer) => descriptor(layer)),
    ...fields,
  })
  await pushManifest(name, tag === '' ? digestOf(manifest) : tag, manifest)
  return manifest
}
