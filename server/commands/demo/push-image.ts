// Pushes an image as a build would: an index of two platforms with three layers each, and the list
// of its packages (SBOM), attached to the index. All images share the lowest layer of a platform.
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Actors } from './actors.ts'
import { tarOf } from './tar.ts'

const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  empty: 'application/vnd.oci.empty.v1+json',
  sbom: 'application/spdx+json',
}

const architectures = ['amd64', 'arm64']

/** The files contain pseudorandom bytes, which do not compress, so the layers keep these sizes. */
const layersOf = ({ name, version }: Image): readonly [path: string, kilobytes: number, step: string][] => [
  ['lib/base', 210, 'COPY base /'],
  [`usr/lib/${name}`, 90, `RUN install the libraries of ${name}`],
  [`app/${name}-${version}`, 40, `COPY ${name} /app/${name}`],
]

type Image = { name: string; version: string }

type Target = {
  /** The path of the repo below /v2/, such as `northwind/product/shop/checkout`. */
  repo: string
  /** All tags of the image. */
  tags: string[]
  image: Image
  /** When it was built, in milliseconds since 1970. */
  time: number
}

type Descriptor = { mediaType: string; digest: string; size: number }

export async function pushImage(actors: Actors, identity: string, target: Target): Promise<void> {
  const { repo, tags, image, time } = target
  const created = new Date(time).toISOString()
  const push = openPush(actors, identity, repo)
  const manifests: (Descriptor & { platform: object })[] = []
  for (const architecture of architectures) {
    const manifest = await pushPlatform(push, image, architecture, created)
    manifests.push({ ...manifest, platform: { os: 'linux', architecture } })
  }
  const annotations = {
    'org.opencontainers.image.title': image.name,
    'org.opencontainers.image.version': image.version,
    'org.opencontainers.image.created': created,
  }
  const index = { schemaVersion: 2, mediaType: types.index, manifests, annotations }
  for (const tag of tags) await push.manifest(index, tag)
  const sbom = await push.blob(types.sbom, Buffer.from(JSON.stringify(sbomOf(image, created))))
  await push.manifest({
    ...{ schemaVersion: 2, mediaType: types.manifest, artifactType: types.sbom },
    config: await push.blob(types.empty, Buffer.from('{}')),
    layers: [sbom],
    subject: descriptorOf(types.index, Buffer.from(JSON.stringify(index))),
  })
}

async function pushPlatform(
  push: Push,
  image: Image,
  architecture: string,
  created: string,
): Promise<Descriptor> {
  const files = layersOf(image).map(([path, kilobytes, step]) => ({
    tar: tarOf(path, noiseOf(`${path} ${architecture}`, kilobytes * 1000)),
    step,
  }))
  const config = {
    ...{ created, architecture, os: 'linux' },
    config: {
      ...{ User: '65532', Entrypoint: [`/app/${image.name}`], Env: ['PATH=/usr/bin:/app', 'TZ=UTC'] },
      Labels: { 'org.opencontainers.image.version': image.version },
    },
    rootfs: { type: 'layers', diff_ids: files.map(({ tar }) => digestOf(tar)) },
    history: files.map(({ step }) => ({ created, created_by: step })),
  }
  const layers: Descriptor[] = []
  for (const { tar } of files) layers.push(await push.blob(types.layer, gzipSync(tar, { level: 1 })))
  return push.manifest({
    ...{ schemaVersion: 2, mediaType: types.manifest },
    config: await push.blob(types.config, Buffer.from(JSON.stringify(config))),
    layers,
  })
}

type Manifest = { mediaType: string; [field: string]: unknown }

type Push = {
  blob(mediaType: string, content: Uint8Array<ArrayBuffer>): Promise<Descriptor>
  /** Without a tag, the manifest is stored by its digest. */
  manifest(manifest: Manifest, tag?: string): Promise<Descriptor>
}

function openPush(actors: Actors, identity: string, repo: string): Push {
  const send = async (method: string, path: string, type: string, body: Uint8Array<ArrayBuffer>) => {
    const status = await actors.send(identity, method, `/v2/${repo}/${path}`, { type, body })
    if (status !== 201) throw new Error(`the image of ${repo} could not be pushed: ${status}`)
  }
  return {
    async blob(mediaType, content) {
      const descriptor = descriptorOf(mediaType, content)
      const path = `blobs/uploads/?digest=${descriptor.digest}`
      await send('POST', path, 'application/octet-stream', content)
      return descriptor
    },
    async manifest(manifest, tag) {
      const content = Buffer.from(JSON.stringify(manifest))
      const descriptor = descriptorOf(manifest.mediaType, content)
      await send('PUT', `manifests/${tag ?? descriptor.digest}`, manifest.mediaType, content)
      return descriptor
    },
  }
}

/** In the format SPDX 2.3. */
const sbomOf = ({ name, version }: Image, created: string) => ({
  ...{ spdxVersion: 'SPDX-2.3', dataLicense: 'CC0-1.0', SPDXID: 'SPDXRef-DOCUMENT', name },
  documentNamespace: `https://northwind.example/sbom/${name}/${version}`,
  creationInfo: { created, creators: ['Organization: northwind'] },
  packages: [
    { name, versionInfo: version, licenseConcluded: 'Apache-2.0' },
    { name: 'openssl', versionInfo: '3.5.0-r2', licenseConcluded: 'Apache-2.0' },
    { name: 'zlib', versionInfo: '1.3.1-r4', licenseConcluded: 'Zlib' },
    { name: 'curl', versionInfo: '8.14.1-r0', licenseConcluded: 'curl' },
    { name: 'ca-certificates', versionInfo: '20260601-r0', licenseConcluded: 'MPL-2.0' },
  ].map((entry) => ({
    ...entry,
    ...{ SPDXID: `SPDXRef-${entry.name}`, downloadLocation: 'NOASSERTION' },
  })),
})

/** The same bytes for the same text, so that images share layers. */
const noiseOf = (text: string, bytes: number) =>
  createHash('shake256', { outputLength: bytes }).update(text).digest()

const digestOf = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

const descriptorOf = (mediaType: string, content: Uint8Array): Descriptor => ({
  ...{ mediaType, digest: digestOf(content), size: content.length },
})
