// Ordering of lists (AIP-132), such as `name desc, create_time`. Every order ends with the uid, so that it is total.
import { invalidField } from './errors.ts'

export type OrderTerm = { column: string; descending: boolean }

const termPattern = /^ *([A-Za-z_][A-Za-z0-9_.]*)(?: +(asc|desc))? *$/
const maxTerms = 8

/** `sortable` maps each spelling that callers may use to its column. `fallback` is the order if the text is empty. */
export function parseOrderBy(
  text: string,
  sortable: ReadonlyMap<string, string>,
  fallback: OrderTerm[],
): OrderTerm[] {
  if (text.trim() === '') return endWithUid(fallback)
  const parts = text.split(',')
  if (parts.length > maxTerms) throw invalidField('order_by', `must contain at most ${maxTerms} fields`)
  const terms: OrderTerm[] = []
  for (const part of parts) {
    const [, field, direction] = termPattern.exec(part) ?? []
    const column = field === undefined ? undefined : sortable.get(field)
    if (column === undefined) throw invalidField('order_by', hint(sortable))
    if (terms.some((earlier) => earlier.column === column)) {
      throw invalidField('order_by', `must contain each field once, but ${field} appears twice`)
    }
    terms.push({ column, descending: direction === 'desc' })
  }
  return endWithUid(terms)
}

/** Names the first spelling of each field. */
function hint(sortable: ReadonlyMap<string, string>): string {
  const spellings = Map.groupBy(sortable.keys(), (spelling) => sortable.get(spelling))
  const fields = [...spellings.values()].map(([first]) => first).join(', ')
  return `must be fields separated by commas, each optionally followed by asc or desc; the fields are ${fields}`
}

function endWithUid(terms: OrderTerm[]): OrderTerm[] {
  const atUid = terms.findIndex(({ column }) => column === 'uid')
  if (atUid >= 0) return terms.slice(0, atUid + 1)
  return [...terms, { column: 'uid', descending: terms.at(-1)?.descending ?? false }]
}
