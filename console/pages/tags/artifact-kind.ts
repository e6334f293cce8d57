// The kinds of artifacts that describe an image.
import type { Descriptor } from '../../api/registry.ts'
import { textOf } from './image.ts'

export type ArtifactKind = 'Signature' | 'SBOM' | 'Attestation' | 'Artifact'

/** Words in types of artifacts, in the order in which they are looked for. */
const words: [RegExp, ArtifactKind][] = [
  [/spdx|cyclonedx|syft|sbom/i, 'SBOM'],
  [/in-toto|attestation|provenance|slsa/i, 'Attestation'],
  [/signature|cosign\/sign|sigstore|cosign|notary/i, 'Signature'],
]

/** The annotations in which cosign and buildkit store the predicate type of a statement. */
const predicateAnnotations = ['dev.sigstore.bundle.predicateType', 'in-toto.io/predicate-type']

/** The predicate type of a signed statement, such as `https://slsa.dev/provenance/v1`. */
export const predicateTypeOf = ({ annotations }: Descriptor) =>
  predicateAnnotations.map((name) => annotations?.[name]).find((type) => typeof type === 'string')

/** The artifact type, or else the media type. The registry does not check the artifact type. */
export const typeOf = ({ artifactType, mediaType }: Descriptor) => textOf(artifactType) || textOf(mediaType)

export function artifactKindOf(descriptor: Descriptor): ArtifactKind {
  const predicate = predicateTypeOf(descriptor)
  const found = kindOfText(predicate ?? typeOf(descriptor))
  return predicate !== undefined && found === 'Artifact' ? 'Attestation' : found
}

const kindOfText = (text: string): ArtifactKind =>
  words.find(([pattern]) => pattern.test(text))?.[1] ?? 'Artifact'
