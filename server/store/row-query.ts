// A query of one row, by itself or as a part of a larger statement.
import { isLiveAt } from './expiry.ts'
import type { Placeholder, Placeholders, Sql, Value } from './sql.ts'
import { preparedByKeys, raw, sql } from './sql.ts'
import type { Form, Table } from './table.ts'

/** Selects at most one row, whose first column is never null. */
export type RowQuery = {
  /** The text of the statement depends only on these keys, which are compared by identity. */
  keys: readonly unknown[]
  values: readonly Value[]
  /** Makes the text from a placeholder for each value. */
  build(placeholders: readonly Placeholder[]): Sql
}

/** The text must depend only on `select` and `args`, as with `prepared`. */
export const rowQuery = <const Args extends readonly unknown[], Values extends readonly Value[]>(
  select: (placeholders: Placeholders<Values>, ...args: Args) => Sql,
  args: Args,
  values: readonly [...Values],
): RowQuery => ({
  keys: [select, ...args],
  values,
  build: (placeholders) => select(placeholders as unknown as Placeholders<Values>, ...args), // one for each value
})

export const selectRow = ({ keys, values, build }: RowQuery): Sql => preparedByKeys(keys, values, build)

/**
 * Selects the update time of a resource and the resource as it is sent, which is null if the row has JSON of another
 * shape than `form`. A row that has expired at `time` is not selected.
 */
export const renderedRow = (table: Table, uid: string, form: Form, time: number): RowQuery =>
  table.expires
    ? rowQuery(selectLiveRow, [table, form], [uid, time])
    : rowQuery(selectRenderedRow, [table, form], [uid])

const selectRenderedRow = ([uid]: Placeholders<[string]>, table: Table, form: Form) =>
  sql`select update_time, ${table.rendered(form)} as rendered from ${raw(table.name)} where uid = ${uid}`

const selectLiveRow = ([uid, time]: Placeholders<[string, number]>, table: Table, form: Form) =>
  sql`${selectRenderedRow([uid], table, form)} and ${isLiveAt(time)}`
