// Pages that one statement reads: rows, total and next cursor. The engine joins the rows into one text, because
// reading one value takes less time than reading a value for each row.
import type { Row, Sql } from '../sql.ts'
import { raw, sql } from '../sql.ts'
import { preparedByKeys } from '../statement/prepared.ts'
import { contentOf, fill } from '../statement/statement.ts'
import type { Table } from '../table.ts'
import { tallied } from '../tally.ts'
import { renderedIfSmall } from './large-rows.ts'
import type { Listing, Page } from './listing.ts'
import { columnsOf, orderBy } from './order-sql.ts'
import type { JoinedPlan } from './plan.ts'
import { expiredCondition, scanCondition } from './region-sql.ts'
import type { GroupRegion } from './scan-region.ts'

/**
 * A statement that returns up to three rows: one with the text, its length in bytes and the total, one with the keys of
 * the last row of the page, and one with the keys of the row after it.
 */
export function selectJoined(table: Table, listing: Listing, plan: JoinedPlan): Sql {
  const { form, order, size } = listing
  const where = contentOf(scanCondition(plan, listing))
  const total = contentOf(totalOf(table, plan.region, listing.liveAt))
  const cacheKeys: unknown[] = [selectJoined, table, form, size, where.template, total.template]
  for (const { column, descending } of order) cacheKeys.push(column, descending)
  return preparedByKeys(cacheKeys, [...total.values, ...where.values], (placeholders) => {
    const totalValueCount = total.values.length
    return joinedStatement(
      table,
      listing,
      fill(where.template, placeholders.slice(totalValueCount)),
      fill(total.template, placeholders.slice(0, totalValueCount)),
    )
  })
}

function joinedStatement(table: Table, listing: Listing, where: Sql, total: Sql): Sql {
  const { order, size } = listing
  const rows = sql`from ${raw(table.name)} where ${where} order by ${orderBy(order)}`
  const nulls = raw(order.map(() => 'null').join(', '))
  const rendered = sql`coalesce(${renderedIfSmall(table, listing)}, ${raw(`'${missingMark}'`)})`
  const text = raw("string_agg(rendered, ',')")
  return sql`select ${text}, octet_length(/*pg convert_to( */ ${text} /*pg , 'UTF8') */), ${total}, ${nulls}
      from (select ${rendered} as rendered ${rows} ${raw(`limit ${size}`)}) page
    union all select null, null, null, ${columnsOf(order)}
      from (select ${columnsOf(order)} ${rows} ${raw(`limit 2 offset ${size - 1}`)}) ends`
}

/** Selected in place of a row that is large or stale. JSON escapes this character, so no row contains it. */
const missingMark = '\u0001'

/** The page, or undefined if one of its rows is large or stale. */
export function joinedPage([summary, lastKeys, nextKeys]: readonly Row[]): Page | undefined {
  const [text, bytes, total] = summary as [string | null, number, number] // as selected
  if (text?.includes(missingMark)) return undefined
  const rows = text === null ? [] : { text, size: bytes }
  return { rows, next: nextKeys && lastKeys?.slice(3), total }
}

/** The number of rows in a region that have not expired, as an expression. */
function totalOf(table: Table, region: GroupRegion, liveAt: number | undefined): Sql {
  const total = talliedIn(table, region)
  if (liveAt === undefined) return total
  return sql`${total} - (select count(*) from ${raw(table.name)} where ${expiredCondition(region, liveAt)})`
}

function talliedIn(table: Table, { kind, uid }: GroupRegion): Sql {
  if (kind === 'children') return tallied('children', table.name, uid)
  const below = tallied('subtree', table.name, uid)
  if (kind === 'below' || !table.hasGroupUids) return below
  return sql`${below} + (select count(*) from ${raw(table.name)} where uid = ${uid})`
}
