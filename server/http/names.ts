// The other names by which the contract is served: v2 is v2beta1, and clients published by others put the label
// of their maker before the packages.

const stable = 'v2'
const beta = 'v2beta1'

/** Every name of a service over gRPC, its own first. */
export function serviceNames(name: string, vendorPrefixes: readonly string[]): string[] {
  const plain = [...new Set([name, name.replace(`.${beta}.`, `.${stable}.`)])]
  return ['', ...vendorPrefixes].flatMap((prefix) => plain.map((one) => prefix + one))
}

/** The segments of a path as the contract has them. */
export function ownSegments(segments: string[]): string[] {
  return segments[1] === stable ? segments.with(1, beta) : segments
}
