// Digests of the OCI image specification: `sha256:` or `sha512:`, followed by lower-case hexadecimal digits.
export type Algorithm = 'sha256' | 'sha512'

/** A valid digest: `parseDigest` is the only way to make one from text. */
export type Digest = `${Algorithm}:${string}` & { readonly parsed: unique symbol }

const digestPattern = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/

/** Returns undefined if the text is not a digest of a supported algorithm. */
export function parseDigest(text: string): Digest | undefined {
  // The pattern proves the type.
  return digestPattern.test(text) ? (text as Digest) : undefined
}

export const algorithmOf = (digest: Digest): Algorithm => (digest.startsWith('sha256:') ? 'sha256' : 'sha512')

export const hexOf = (digest: Digest): string => digest.slice('sha256:'.length)

/** The place of a blob, in a folder and in a bucket. The first two digits keep folders small. */
export const placeOf = (digest: Digest): string =>
  `${algorithmOf(digest)}/${hexOf(digest).slice(0, 2)}/${hexOf(digest)}`
