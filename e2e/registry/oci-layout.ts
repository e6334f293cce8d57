// An image layout (OCI Image 1.1) on disk, which foreign clients can push.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { digestOf, types } from './oci-client.ts'

export type Layout = {
  folder: string
  /** The digest of the index, which has the tag v1 in the layout. */
  index: string
  /** The digests of the images. */
  images: string[]
}

/** A tar archive without files: blocks of zeros. Archives of different lengths have different digests. */
const emptyArchive = (blocks: number) => Buffer.alloc(1024 * blocks)
const layerType = 'application/vnd.oci.image.layer.v1.tar+gzip'

const platforms = [
  { os: 'linux', architecture: 'amd64' },
  { os: 'linux', architecture: 'arm64' },
]

/** Writes an index of two images, which share a layer. */
export async function writeLayout(folder: string): Promise<Layout> {
  const blobs = join(folder, 'blobs', 'sha256')
  await mkdir(blobs, { recursive: true })
  const write = async (content: string | Buffer, mediaType: string) => {
    const digest = digestOf(content)
    await writeFile(join(blobs, digest.slice('sha256:'.length)), content)
    return { mediaType, digest, size: content.length }
  }
  const manifests: { digest: string; platform: object }[] = []
  for (const [at, platform] of platforms.entries()) {
    const archives = [emptyArchive(1), emptyArchive(2 + at)]
    const rootfs = { type: 'layers', diff_ids: archives.map((archive) => digestOf(archive)) }
    const config = await write(JSON.stringify({ ...platform, config: {}, rootfs }), types.config)
    const layers = await Promise.all(archives.map((archive) => write(gzipSync(archive), layerType)))
    const image = { schemaVersion: 2, mediaType: types.manifest, config, layers }
    manifests.push({ ...(await write(JSON.stringify(image), types.manifest)), platform })
  }
  const index = await write(
    JSON.stringify({ schemaVersion: 2, mediaType: types.index, manifests }),
    types.index,
  )
  const tagged = { ...index, annotations: { 'org.opencontainers.image.ref.name': 'v1' } }
  await writeFile(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
  const list = { schemaVersion: 2, mediaType: types.index, manifests: [tagged] }
  await writeFile(join(folder, 'index.json'), JSON.stringify(list))
  return { folder, index: index.digest, images: manifests.map(({ digest }) => digest) }
}
