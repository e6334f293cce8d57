// The manifests that describe another one: signatures, SBOMs and attestations.
import type { ImageKind } from './image-kind.ts'
import { kindOfArtifact } from './image-kind.ts'
import type { RegistryClient } from './registry-client.ts'

/** `reference` is a tag or digest. */
export type Referrer = { reference: string; kind: ImageKind }

/** Older versions of cosign store no subject, and find what describes an image by tags with its digest. */
const tagKinds: Record<string, ImageKind> = { sig: 'signature', att: 'attestation', sbom: 'sbom' }

export async function referrersOf(client: RegistryClient, digest: string): Promise<Referrer[]> {
  const found = (await client.referrers(digest)).map(({ digest: reference, artifactType = '' }) => ({
    ...{ reference, kind: kindOfArtifact(artifactType) },
  }))
  const prefix = digest.replace(':', '-')
  const tags = await client.tagsAfter(prefix, Object.keys(tagKinds).length)
  const tagged = tags.flatMap((tag): Referrer[] => {
    const kind = tag.startsWith(`${prefix}.`) ? tagKinds[tag.slice(prefix.length + 1)] : undefined
    return kind ? [{ reference: tag, kind }] : []
  })
  return [...found, ...tagged]
}
