// The equalities that every match of a filter fulfils. Rows are looked up by them in columns with an index.
import type { Filter } from './parse.ts'

/** `path` is in lower case. */
export type Equality = { path: string; value: string }

/** Equalities of text that are combined with `and`, as in `userName eq "x" and …`. */
export function equalitiesOf(filter: Filter | undefined): Equality[] {
  if (filter?.kind === 'and') return filter.parts.flatMap(equalitiesOf)
  if (filter?.kind === 'compare' && filter.operator === 'eq' && typeof filter.value === 'string')
    return [{ path: filter.path.toLowerCase(), value: filter.value }]
  if (filter?.kind === 'value')
    return equalitiesOf(filter.part).map(({ path, value }) => ({
      path: `${filter.path.toLowerCase()}.${path}`,
      value,
    }))
  return []
}

/** How many comparisons of a filter are about an attribute. */
export function countMentions(filter: Filter | undefined, attribute: string): number {
  if (!filter) return 0
  if (filter.kind === 'and' || filter.kind === 'or')
    return filter.parts.reduce((count, part) => count + countMentions(part, attribute), 0)
  if (filter.kind === 'not') return countMentions(filter.part, attribute)
  const isAbout = isPathOf(filter.path.toLowerCase(), attribute)
  if (filter.kind === 'value') return isAbout ? Math.max(1, countComparisons(filter.part)) : 0
  return isAbout ? 1 : 0
}

/** Whether a path in lower case, perhaps with a URN before it, names an attribute or a part of it. */
export const isPathOf = (path: string, attribute: string) =>
  withoutUrn(path).split('.')[0] === attribute.toLowerCase()

/** Whether a path in lower case, perhaps with a URN before it, names the `value` of an attribute. */
export const isValueOf = (path: string, attribute: string) =>
  [attribute.toLowerCase(), `${attribute.toLowerCase()}.value`].includes(withoutUrn(path))

const withoutUrn = (path: string) => path.slice(path.lastIndexOf(':') + 1)

function countComparisons(filter: Filter): number {
  if (filter.kind === 'and' || filter.kind === 'or')
    return filter.parts.reduce((count, part) => count + countComparisons(part), 0)
  return filter.kind === 'not' ? countComparisons(filter.part) : 1
}
