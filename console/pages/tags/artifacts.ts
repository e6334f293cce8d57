// The artifacts that describe an image: referrers, attestations in its index, and tags of older versions of cosign.
import { useRead } from '../../api/read.ts'
import type { Descriptor, Manifest } from '../../api/registry.ts'
import { readReferrers, readTagsAfter } from '../../api/registry.ts'
import type { ArtifactKind } from './artifact-kind.ts'
import { artifactKindOf, predicateTypeOf, typeOf } from './artifact-kind.ts'
import { attestationsIn, textOf } from './image.ts'

export type Artifact = {
  kind: ArtifactKind
  /** The digest of its manifest, or the tag that names it. */
  reference: string
  /** The type of its content, such as `application/spdx+json`. */
  type: string
  size?: number | undefined
  created?: string | undefined
  /** Whether one of its layers may be an SBOM, which only its manifest shows. */
  isMixed?: boolean
}

export type Described = {
  repo: string
  /** The digest that the tag names. */
  digest: string
  /** The manifest with this digest, if it is an index. */
  index?: Manifest | undefined
  /** The image of the chosen platform. The same digest if the tag names a single image. */
  image: string
}

/** Undefined until they are read. */
export function useArtifacts({ repo, digest, index, image }: Described) {
  const ofTag = useRead(readReferrers(repo, digest))
  const ofImage = useRead(readReferrers(repo, image))
  const tagsOfTag = useRead(readTagsAfter(repo, tagPrefix(digest), tagKinds.length))
  const tagsOfImage = useRead(readTagsAfter(repo, tagPrefix(image), tagKinds.length))
  const reads = [ofTag, ofImage, tagsOfTag, tagsOfImage]
  const error = reads.find((each) => each.error)?.error ?? undefined
  if (reads.some(({ data }) => data === undefined)) return { error, artifacts: undefined }
  const all = [
    ...[...(ofTag.data?.manifests ?? []), ...(ofImage.data?.manifests ?? [])].map(artifactOf),
    ...attestationsIn(index ?? {}, image).map((entry) => ({ ...artifactOf(entry), ...mixed })),
    ...taggedArtifacts(tagsOfTag.data?.tags ?? [], digest),
    ...taggedArtifacts(tagsOfImage.data?.tags ?? [], image),
  ]
  return { error, artifacts: [...new Map(all.map((each) => [each.reference, each])).values()] }
}

const mixed = { kind: 'Attestation', isMixed: true } as const

const artifactOf = (descriptor: Descriptor): Artifact => ({
  kind: artifactKindOf(descriptor),
  reference: descriptor.digest,
  type: predicateTypeOf(descriptor) ?? typeOf(descriptor),
  size: descriptor.size,
  created: textOf(descriptor.annotations?.['org.opencontainers.image.created']),
})

const tagPrefix = (digest: string) => digest.replace(':', '-')

/** The ends of tags such as `sha256-….sig`. */
const tagKinds: [end: string, kind: ArtifactKind][] = [
  ['.att', 'Attestation'],
  ['.sbom', 'SBOM'],
  ['.sig', 'Signature'],
]

const taggedArtifacts = (tags: readonly string[], digest: string): Artifact[] =>
  tagKinds
    .filter(([end]) => tags.includes(tagPrefix(digest) + end))
    .map(([end, kind]) => ({
      ...{ kind, reference: tagPrefix(digest) + end, type: 'named by a tag' },
      ...(kind === 'Attestation' && { isMixed: true }),
    }))

/** The artifacts that are or may contain an SBOM, the certain ones first. */
export const sbomsIn = (artifacts: readonly Artifact[]) => [
  ...artifacts.filter(({ kind }) => kind === 'SBOM'),
  ...artifacts.filter(({ isMixed }) => isMixed),
]

/** The layer of an artifact that is an SBOM, or else its first layer. */
export const contentOf = ({ layers = [] }: Manifest): Descriptor | undefined =>
  layers.find((layer) => artifactKindOf(layer) === 'SBOM') ?? layers[0]
