// Warnings about a call that succeeded: a value is stored, but is probably a mistake. Responses have them in a header
// field, and over gRPC in the trailing metadata (docs/specification.md, Warnings).

/** `field` is a path in proto spelling, relative to the resource if the request contains one. */
export type Warning = { field: string; description: string }

export const warningHeader = 'stemma-warning'

/** A response has few warnings of limited length: proxies refuse responses with large headers. */
const maxWarnings = 5
const maxLength = 300

/** A List of Strings, each with the parameter `field` (RFC 9651). `spell` converts a path to the caller's spelling. */
export const formatWarnings = (
  warnings: readonly Warning[],
  spell: (path: string) => string = (path) => path,
): string =>
  warnings
    .slice(0, maxWarnings)
    .map(({ field, description }) => `${quoted(description)};field=${quoted(spell(field))}`)
    .join(', ')

/** A String of RFC 9651 has only printable ASCII characters. Others can only come from names that callers chose. */
function quoted(text: string): string {
  const printable = text.slice(0, maxLength).replace(/[^ -~]/gu, '?')
  return `"${printable.replace(/["\\]/g, '\\$&')}"`
}
