// Pages of plain lists, each read by one statement.
import type { Listing, Page } from './page.ts'
import type { Part, Term, Wide } from './region-sql.ts'
import { clearWayOf, columnsOf, isPassed, orderBy, rowsOf, usualSizes } from './region-sql.ts'
import type { Sql } from './sql.ts'
import { raw, sql } from './sql.ts'
import { preparedByKeys } from './statement/prepared.ts'
import { contentOf, fill } from './statement/statement.ts'
import type { Form, Table } from './table.ts'
import { tallied } from './tally.ts'
import type { Work } from './work.ts'

/**
 * A page of JSON that one index has, in one statement: its rows come as one text, which is cheaper to take than many,
 * and its total with them. Undefined where it takes more, as it does if some of the JSON is of another shape, and
 * where the index would have to be passed over, which the statement does twice.
 */
export function* readJoined(table: Table, listing: Listing, parts: readonly Part[]): Work<Page | undefined> {
  const { order, filters, skip, size, form } = listing
  const [part, ...others] = parts
  if (!part || part.kind === 'points' || others.length > 0 || filters.length > 0) return undefined
  if (skip > 0 || order.length > 2 || isPassed(part, listing)) return undefined
  if (form.kind !== 'json' || !usualSizes.includes(size)) return undefined
  const way = clearWayOf(table, part, listing)
  if (!way) return undefined
  const where = rowsOf(part, listing, way)
  const [joined, last, beyond] = yield selectJoined(table, form, order, size, where, totalOf(table, part))
  const [text, bytes, total] = joined as [string | null, number, number] // as selected
  if (text?.includes(staleMark)) return undefined
  const rows = text === null ? [] : { text, size: bytes }
  return { rows, next: beyond && last?.slice(3), total }
}

/** How many rows a part has, as an expression. */
function totalOf(table: Table, { kind, uid }: Wide): Sql {
  if (kind === 'children') return tallied('children', table.name, uid)
  const below = tallied('subtree', table.name, uid)
  if (kind === 'below' || !table.isAtPlaces) return below
  return sql`${below} + (select count(*) from ${raw(table.name)} where uid = ${uid})`
}

/**
 * A row with the text, its length and the total; then the keys of the last row on the page, and of the one beyond it.
 */
function selectJoined(
  table: Table,
  form: Form,
  order: readonly Term[],
  size: number,
  where: Sql,
  total: Sql,
): Sql {
  const [inside, counted] = [contentOf(where), contentOf(total)]
  const keys: unknown[] = [selectJoined, table, form, size, inside.template, counted.template]
  for (const { column, descending } of order) keys.push(column, descending)
  return preparedByKeys(keys, [...counted.values, ...inside.values], (placeholders) => {
    const total = fill(counted.template, placeholders.slice(0, counted.values.length))
    const where = fill(inside.template, placeholders.slice(counted.values.length))
    const rows = sql`from ${raw(table.name)} where ${where} order by ${orderBy(order)}`
    const nulls = raw(order.map(() => 'null').join(', '))
    const rendered = sql`coalesce(${table.rendered(form)}, ${raw(`'${staleMark}'`)})`
    const text = raw("string_agg(rendered, ',')")
    return sql`select ${text}, octet_length(/*pg convert_to( */ ${text} /*pg , 'UTF8') */), ${total}, ${nulls}
        from (select ${rendered} as rendered ${rows} ${raw(`limit ${size}`)}) page
      union all select null, null, null, ${columnsOf(order)}
        from (select ${columnsOf(order)} ${rows} ${raw(`limit 2 offset ${size - 1}`)}) ends`
  })
}

/** Stands for a row whose JSON is of another shape: no JSON holds this character. */
const staleMark = '\u0001'
