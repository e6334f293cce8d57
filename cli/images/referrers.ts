// The manifests that describe another one: signatures, SBOMs and attestations.
import type { ImageKind } from './image-kind.ts'
import { kindOfArtifact, kindOfPredicate } from './image-kind.ts'
import type { Descriptor, RegistryClient } from './registry-client.ts'

/** `reference` is a tag or digest. */
export type Referrer = { reference: string; kind: ImageKind; predicateType?: string }

/** Older versions of cosign set no subject; they tag the signature of an image `sha256-<digest of the image>.sig`. */
const tagKinds = new Map<string, ImageKind>([
  ['sig', 'signature'],
  ['att', 'attestation'],
  ['sbom', 'sbom'],
])

/** More than the number of `tagKinds`, because other tags may begin with the same digest. */
const tagsToRead = 100

export async function referrersOf(client: RegistryClient, digest: string): Promise<Referrer[]> {
  const found = (await client.referrers(digest)).map(referrerOf)
  const prefix = digest.replace(':', '-')
  const tags = await client.tagsAfter(prefix, tagsToRead)
  const tagged = tags.flatMap((tag): Referrer[] => {
    const kind = tag.startsWith(`${prefix}.`) ? tagKinds.get(tag.slice(prefix.length + 1)) : undefined
    return kind ? [{ reference: tag, kind }] : []
  })
  return [...found, ...tagged]
}

/** The annotations in which cosign and buildkit store the predicate type of a statement. */
const predicateAnnotations = ['dev.sigstore.bundle.predicateType', 'in-toto.io/predicate-type']

function referrerOf({ digest: reference, artifactType = '', annotations = {} }: Descriptor): Referrer {
  const predicateType = predicateAnnotations
    .map((name) => annotations[name])
    .find((type) => typeof type === 'string')
  if (predicateType === undefined) return { reference, kind: kindOfArtifact(artifactType) }
  return { reference, kind: kindOfPredicate(predicateType), predicateType }
}
