// The statements that read the rows of a page. Each row has the resource as it is sent (null if it is large or stale),
// then the columns of the order.
import type { Sql } from '../sql.ts'
import { join, raw, sql } from '../sql.ts'
import type { Table } from '../table.ts'
import { renderedIfSmall } from './large-rows.ts'
import type { Listing, Term } from './listing.ts'
import { columnsOf, orderBy } from './order-sql.ts'

type Output = Pick<Listing, 'form' | 'order' | 'size'>

/** Selects rows that one index yields in order, or a few rows that the engine sorts. */
export const selectRows = (table: Table, output: Output, where: Sql, limit: number): Sql =>
  sql`select ${renderedIfSmall(table, output)}, ${columnsOf(output.order)} from ${raw(table.name)} where ${where}
    order by ${orderBy(output.order)} ${limitTo(limit)}`

/** Selects the rows of these keys. Sorting, merging and skipping read only keys; the rows of the page are read last. */
export const selectRowsOfKeys = (table: Table, output: Output, keys: Sql): Sql =>
  sql`select ${renderedIfSmall(table, output)}, ${columnsOf(output.order, `${table.name}.`)} from (${keys}) k
    join ${raw(table.name)} on ${raw(table.name)}.uid = k.uid order by ${orderBy(output.order, 'k.')}`

/**
 * Selects the first keys of several scans, in order. SQLite merges the scans of a `union all` as they are. PostgreSQL
 * merges them only if each has an order and a limit. That limit is rounded up to a power of two, so that there are few
 * distinct SQL texts.
 */
export function selectKeys(
  table: Table,
  order: readonly Term[],
  scans: readonly Sql[],
  pageLimit: Sql,
  keyCount: number,
): Sql {
  const selects = scans.map((where) => sql`select ${columnsOf(order)} from ${raw(table.name)} where ${where}`)
  const end = sql`order by ${orderBy(order)} ${pageLimit}`
  if (selects.length === 1) return sql`${join(selects, '')} ${end}`
  const limit = raw(String(2 ** Math.ceil(Math.log2(keyCount))))
  const merged = selects.map(
    (select) => sql`/*pg ( */ ${select} /*pg order by ${orderBy(order)} limit ${limit} ) */`,
  )
  return sql`${join(merged, ' union all ')} ${end}`
}

export const limitTo = (limit: number, skip = 0): Sql =>
  skip > 0 ? sql`limit ${raw(String(limit))} offset ${skip}` : raw(`limit ${limit}`)
