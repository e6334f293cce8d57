import type { JsonObject } from '@bufbuild/protobuf'

/**
 * Whether a value is a JSON object: neither null nor an array.
 *
 * @example
 * ```ts
 * isObject({ uid: 'a' }) // true
 * isObject([1, 2]) // false
 * ```
 */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Parses a JSON object. Returns undefined for other JSON values and for text that is not JSON.
 *
 * @example
 * ```ts
 * parseObject('{"name":"acme"}') // { name: 'acme' }
 * parseObject('<html>') // undefined
 * ```
 */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
