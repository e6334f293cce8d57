export type ImageKind =
  | 'index'
  | 'manifest'
  | 'config'
  | 'layer'
  | 'signature'
  | 'sbom'
  | 'attestation'
  | 'artifact'

/** Words in types of artifacts, in the order in which they are looked for. */
const words: [RegExp, ImageKind][] = [
  [/spdx|cyclonedx|syft|sbom/i, 'sbom'],
  [/in-toto|attestation|provenance|slsa/i, 'attestation'],
  [/signature|sigstore|cosign|notary/i, 'signature'],
]

export const kindOfArtifact = (type: string): ImageKind =>
  words.find(([pattern]) => pattern.test(type))?.[1] ?? 'artifact'

/** The kind of an in-toto statement about an image, by its predicate type. Cosign signatures are statements, too. */
export function kindOfPredicate(type: string): ImageKind {
  if (type.includes('/cosign/sign/')) return 'signature'
  return kindOfArtifact(type) === 'sbom' ? 'sbom' : 'attestation'
}
