// The SQL of orders and cursors (keyset pagination).
import type { Sql, Value } from '../sql.ts'
import { raw, sql, tuple } from '../sql.ts'
import type { Term } from './listing.ts'

export const isByUid = ([first]: readonly Term[]): boolean => first?.column === 'uid'

export const orderBy = (order: readonly Term[], prefix = ''): Sql =>
  raw(order.map(({ column, descending }) => `${prefix}${column}${descending ? ' desc' : ''}`).join(', '))

export const columnsOf = (order: readonly Term[], prefix = ''): Sql =>
  raw(order.map(({ column }) => prefix + column).join(', '))

/** The condition that a row follows the cursor, if there is one. */
export function afterCursor(order: readonly Term[], after: readonly Value[] | undefined): Sql[] {
  const [first] = order
  if (!first) return []
  // No index covers an order of three columns. This bound, which every row meets, makes both engines use the index on
  // the first column.
  if (!after) return order.length > 2 ? [sql`${raw(first.column)} >= ${lowestValue(first.column)}`] : []
  if (order.some(({ descending }) => descending !== first.descending)) return [afterByColumn(order, after)]
  const columns = raw(order.map(({ column }) => column).join(', '))
  return [sql`(${columns}) ${raw(first.descending ? '<' : '>')} ${tuple(after)}`]
}

const lowestValue = (column: string) => (column.endsWith('_time') ? Number.MIN_SAFE_INTEGER : '')

/** The condition for an order of mixed directions: column by column, each with a bound that an index can use. */
function afterByColumn([term, ...terms]: readonly Term[], [value = null, ...values]: readonly Value[]): Sql {
  if (!term) return sql`1 = 0`
  const column = raw(term.column)
  const sign = term.descending ? '<' : '>'
  if (terms.length === 0) return sql`${column} ${raw(sign)} ${value}`
  return sql`${column} ${raw(`${sign}=`)} ${value}
    and (${column} ${raw(sign)} ${value} or ${afterByColumn(terms, values)})`
}
