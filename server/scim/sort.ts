// Orders a list by an attribute (RFC 7644 section 3.4.2.3).
import { badRequest, shortened } from './errors.ts'
import { keyOf } from './filter/compare.ts'
import { listOf } from './filter/evaluate.ts'
import { findAttribute } from './schema/attribute.ts'
import type { Resource, ResourceType } from './schema/schema.ts'
import { holderOf, resolvePath } from './schema/schema.ts'

export type Order = { by: string; isDescending: boolean }

/** The value by which a resource is compared with others. */
export type SortKey = ReturnType<typeof keyOf>

export type Sorting = {
  keyOf(resource: Resource): SortKey
  /** Resources without a value come last in ascending order. */
  compare(a: SortKey, b: SortKey): number
}

export function sortingBy(type: ResourceType, { by, isDescending }: Order): Sorting {
  const found = resolvePath(type, by)
  if (!found)
    throw badRequest('invalidPath', `there is no attribute ${JSON.stringify(shortened(by))} to sort by`)
  const { extension, attribute } = found
  const sub = found.sub ?? findAttribute(attribute.subAttributes, 'value')
  return {
    keyOf(resource) {
      const values = listOf(holderOf(resource, extension)[attribute.name])
      const value = values.find((one) => (one as Resource).primary === true) ?? values[0]
      return keyOf(sub ?? attribute, sub && value !== undefined ? (value as Resource)[sub.name] : value)
    },
    compare(x, y) {
      const order = x === y ? 0 : x === undefined ? 1 : y === undefined ? -1 : x < y ? -1 : 1
      return isDescending ? -order : order
    },
  }
}
