// Reads an image with everything that belongs to it: the manifests of its platforms, their parts, and their referrers.
import { exitCodes } from '../exit-codes.ts'
import { Failure, UsageError } from '../failure.ts'
import type { ImageKind } from './image-kind.ts'
import { kindOfArtifact } from './image-kind.ts'
import type { Referrer } from './referrers.ts'
import { referrersOf } from './referrers.ts'
import type { Descriptor, Manifest, RegistryClient } from './registry-client.ts'
import { descriptorsIn, manifestTypes } from './registry-client.ts'

export type ImageNode = {
  kind: ImageKind
  /** Such as `linux/arm64/v8`. */
  platform?: string
  artifactType?: string
  /** The type of a signed statement about the image, such as `https://slsa.dev/provenance/v1`. */
  predicateType?: string
  digest: string
  mediaType: string
  /** The bytes of this manifest or blob. */
  size: number
  /**
   * Of a manifest or index: the bytes of everything that it consists of, without referrers. A blob
   * that is used several times is counted once.
   */
  totalSize?: number
  children: ImageNode[]
}

/** Indexes may contain indexes, and referrers may have referrers. */
const maxLevels = 8
const maxManifests = 500
const maxParts = 10_000

export async function readImageTree(client: RegistryClient, reference: string): Promise<ImageNode> {
  let manifestCount = 0
  let partCount = 0

  function admit(manifest: Manifest): Manifest {
    manifestCount += 1
    partCount += partsOf(manifest).length
    if (manifestCount + entriesOf(manifest).length <= maxManifests && partCount <= maxParts) return manifest
    throw new UsageError(
      `the image has more than ${maxManifests} manifests or ${maxParts} layers; name one of its manifests by digest`,
    )
  }

  async function read(reference: string, level: number, known: Known): Promise<Read> {
    const manifest = admit(await client.manifest(reference))
    const node = nodeOf(manifest, known)
    const sizes = new Map([node, ...node.children].map(({ digest, size }) => [digest, size]))
    const isDeep = level >= maxLevels
    for (const each of entriesOf(manifest)) {
      const child = isDeep ? unreadOf(each) : await readEntry(each, level + 1)
      node.children.push(child.node)
      for (const [digest, size] of child.sizes) sizes.set(digest, size)
    }
    node.totalSize = sizes.values().reduce((sum, size) => sum + size, 0)
    const platform = known.platform ?? (await platformIn(client, manifest))
    if (platform !== undefined) node.platform = platform
    const referrers: Referrer[] = isDeep ? [] : await referrersOf(client, manifest.digest)
    for (const { reference, ...known } of referrers)
      node.children.push((await read(reference, level + 1, known)).node)
    return { node, sizes }
  }

  /** An entry whose manifest was deleted is shown without its parts. */
  async function readEntry(entry: Descriptor, level: number): Promise<Read> {
    try {
      return await read(entry.digest, level, knownOf(entry))
    } catch (error) {
      if (error instanceof Failure && error.exitCode === exitCodes.notFound) return unreadOf(entry)
      throw error
    }
  }

  return (await read(reference, 0, {})).node
}

const unreadOf = (entry: Descriptor): Read => ({
  node: leafOf(entry, 'manifest'),
  sizes: new Map([[entry.digest, entry.size]]),
})

/** `sizes` are those of everything that the manifest consists of, by digest. */
type Read = { node: ImageNode; sizes: Map<string, number> }

/** Properties of a manifest that are known from its descriptor or tag, before it is read. */
type Known = { kind?: ImageKind; platform?: string; predicateType?: string }

function knownOf({ platform, annotations }: Descriptor): Known {
  // Buildkit puts attestations into the index of an image.
  if (annotations?.['vnd.docker.reference.type'] === 'attestation-manifest') return { kind: 'attestation' }
  const name = platform && platformNameOf(platform)
  return name === undefined ? {} : { platform: name }
}

function nodeOf(manifest: Manifest, { kind, predicateType }: Known): ImageNode {
  const { digest, mediaType, size, content } = manifest
  const artifactType = artifactTypeOf(content)
  return {
    kind:
      kind ??
      (Array.isArray(content.manifests) ? 'index' : artifactType ? kindOfArtifact(artifactType) : 'manifest'),
    ...(artifactType !== undefined && { artifactType }),
    ...(predicateType !== undefined && { predicateType }),
    ...{ digest, mediaType, size, children: partsOf(manifest) },
  }
}

/** The type of an artifact that is not an image to run. */
function artifactTypeOf({ artifactType, config }: Manifest['content']): string | undefined {
  if (typeof artifactType === 'string' && artifactType !== '') return artifactType
  const type = (config as Partial<Descriptor> | undefined)?.mediaType
  return typeof type === 'string' && !imageConfigs.includes(type) ? type : undefined
}

const imageConfigs = [
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
]

/** Build tools store their caches as an index of blobs. An entry without a type is read as a manifest. */
const isBlob = ({ mediaType }: Descriptor) =>
  typeof mediaType === 'string' && !manifestTypes.includes(mediaType)

const entriesOf = ({ content }: Manifest) => descriptorsIn(content.manifests).filter((each) => !isBlob(each))

const partsOf = ({ content }: Manifest): ImageNode[] => [
  ...descriptorsIn(content.manifests)
    .filter(isBlob)
    .map((each) => leafOf(each, 'layer')),
  ...descriptorsIn([content.config]).map((each) => leafOf(each, 'config')),
  ...descriptorsIn(content.layers).map((each) => leafOf(each, 'layer')),
]

const leafOf = ({ digest, mediaType, size }: Descriptor, kind: ImageKind): ImageNode => ({
  ...{ kind, digest, mediaType: String(mediaType), size: Number(size) || 0, children: [] },
})

/** The config of an image that is not in an index says for which platform it is. */
async function platformIn(client: RegistryClient, { content }: Manifest): Promise<string | undefined> {
  const [config] = descriptorsIn([content.config])
  if (!config || !imageConfigs.includes(config.mediaType) || config.size > maxConfigBytes) return undefined
  const blob = await client.blob(config.digest)
  return blob && platformNameOf(blob)
}

const maxConfigBytes = 2 ** 20

/** Build tools give this platform to manifests that are not images, such as SBOMs and attestations. */
const noPlatform = 'unknown/unknown'

type Platform = { os?: unknown; architecture?: unknown; variant?: unknown }

function platformNameOf({ os, architecture, variant }: Platform): string | undefined {
  const name = [os, architecture, variant].filter((part) => typeof part === 'string' && part !== '').join('/')
  return name === '' || name === noPlatform ? undefined : name
}
