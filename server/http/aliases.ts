// Aliases for names of the contract: v2 means v2beta1, and published clients put a vendor prefix before gRPC packages.
// Page tokens, logs, metrics and reflection use only the names of the contract.

const stable = 'v2'
const beta = 'v2beta1'

/** All names of a gRPC service: first its name in the contract, then the aliases. */
export function serviceNames(name: string, vendorPrefixes: readonly string[]): string[] {
  const unprefixed = [...new Set([name, name.replace(`.${beta}.`, `.${stable}.`)])]
  return ['', ...vendorPrefixes].flatMap((prefix) => unprefixed.map((alias) => prefix + alias))
}

/** The segments of a REST path with the version that the contract names. */
export function canonicalSegments(segments: string[]): string[] {
  return segments[1] === stable ? segments.with(1, beta) : segments
}
