// The artifacts that describe an image: referrers, attestations in its index, and tags of older versions of cosign.
import { useInfiniteQuery } from '@tanstack/preact-query'
import type { Descriptor, Manifest } from '../../api/registry.ts'
import { getReferrers, getTagsAfter } from '../../api/registry.ts'
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
  /** Whether one of its layers may be an SBOM. Only the manifest shows whether one is. */
  mayContainSbom?: boolean
}

export type DescribedImage = {
  repo: string
  /** The digest that the tag names, then the digests of the nested indexes that were chosen. */
  opened: readonly string[]
  /** The manifest with the last of these digests, if it is an index. */
  index?: Manifest | undefined
  /** The digest of the image of the chosen platform. The last of `opened` if there is no index. */
  image: string
}

/** `artifacts` are undefined until they are read. `more` reads further ones, if there are some. */
export function useArtifacts({ repo, opened, index, image }: DescribedImage) {
  const subjects = [...new Set([...opened, image])]
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['tags', 'artifacts', repo, subjects],
    queryFn: ({ pageParam, signal }) => getArtifacts(repo, pageParam, signal),
    initialPageParam: subjects.map((subject): Cursor => ({ subject })),
    getNextPageParam: ({ next }) => (next.length > 0 ? next : undefined),
  })
  const all = data && [
    ...data.pages.flatMap(({ artifacts }) => artifacts),
    ...attestationsIn(index ?? {}, image).map((entry) => ({ ...artifactOf(entry), ...attestationFields })),
  ]
  return {
    error: error ?? undefined,
    artifacts: all && [...new Map(all.map((each) => [each.reference, each])).values()],
    more: hasNextPage ? { load: () => void fetchNextPage(), isLoading: isFetchingNextPage } : undefined,
  }
}

/** More than the number of `tagKinds`, because a repo may have other tags that begin with the digest. */
const maxTags = 100

/** Where the next page of the referrers of a manifest begins. */
type Cursor = { subject: string; last?: string }

async function getArtifacts(repo: string, cursors: readonly Cursor[], signal: AbortSignal) {
  const pages = await Promise.all(
    cursors.map(async ({ subject, last }) => {
      const [{ manifests, hasMore }, tags] = await Promise.all([
        getReferrers(repo, subject, last, signal),
        last === undefined ? getTagsAfter(repo, tagPrefix(subject), maxTags, signal) : [],
      ])
      return {
        artifacts: [...manifests.map(artifactOf), ...taggedArtifacts(tags, subject)],
        next: hasMore ? [{ subject, last: manifests.at(-1)?.digest ?? '' }] : [],
      }
    }),
  )
  return { artifacts: pages.flatMap((page) => page.artifacts), next: pages.flatMap((page) => page.next) }
}

const attestationFields = { kind: 'Attestation', mayContainSbom: true } as const

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
      ...(kind === 'Attestation' && { mayContainSbom: true }),
    }))

/** The artifacts that are or may contain an SBOM, the certain ones first. */
export const sbomsIn = (artifacts: readonly Artifact[]) => [
  ...artifacts.filter(({ kind }) => kind === 'SBOM'),
  ...artifacts.filter(({ mayContainSbom }) => mayContainSbom),
]

/** The layer of an artifact that is an SBOM, or else its first layer. */
export const contentOf = ({ layers = [] }: Manifest): Descriptor | undefined =>
  layers.find((layer) => artifactKindOf(layer) === 'SBOM') ?? layers[0]
