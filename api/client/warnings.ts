/**
 * A warning about a call that succeeded: the server has stored a value that is probably a mistake.
 *
 * @example
 * ```ts
 * import type { Warning } from '@stemma/api'
 *
 * const print = ({ field, description }: Warning) => console.warn(`${field}: ${description}`)
 * ```
 */
export type Warning = {
  /** Path of the field, such as `staticKeys.issuerKeys`. Empty if the warning is not about a field. */
  field: string
  description: string
}

/** More than any server sends. A broken proxy must not make a client print without end. */
const maxWarnings = 20

/** An item of the header: a String with an optional parameter `field` (RFC 9651). */
const item = /"((?:[^"\\]|\\["\\])*)"(?:;field="((?:[^"\\]|\\["\\])*)")?/g

/**
 * Reads the warnings of a response from its header `Stemma-Warning`.
 *
 * @example
 * ```ts
 * const headers = new Headers({ 'stemma-warning': '"must be an ARN";field="awsIdentity.arn"' })
 * console.log(readWarnings(headers)) // [{ field: 'awsIdentity.arn', description: 'must be an ARN' }]
 * ```
 */
export function readWarnings(headers: Headers): Warning[] {
  const text = headers.get('stemma-warning')
  if (text === null) return []
  const items = [...text.matchAll(item)].slice(0, maxWarnings)
  return items.map(([, description = '', field = '']) => ({
    field: unescaped(field),
    description: unescaped(description),
  }))
}

const unescaped = (text: string) => text.replace(/\\(["\\])/g, '$1')
