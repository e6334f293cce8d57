// Limits the bytes of a page. The statement of a page selects null in place of each large row. If there are such rows,
// further statements read their lengths and then the large rows that still fit. A page of small rows needs only one
// comparison for each row.
import type { Row, Sql } from '../sql.ts'
import { among, raw, sql } from '../sql.ts'
import type { Form, Rendered, Table } from '../table.ts'
import { readBytes, storedForm } from '../table.ts'
import type { Work } from '../work.ts'
import type { Listing } from './listing.ts'
import { limitOf } from './plan.ts'

/** Clients of gRPC accept messages of 4 MiB. 64 KiB are left for tags, commas and the other fields of a response. */
export const maxPageBytes = 4 * 1024 * 1024 - 64 * 1024

/** The maximum length of a small row: if all rows that a statement reads are small, they fit into a page. */
const maxSmallBytes = (size: number): number => Math.floor(maxPageBytes / limitOf(size))

/** The length of a row as it is stored, which the engines know without reading the value. */
const storedBytes = ({ name }: Table, form: Form) =>
  `octet_length(${name}.${form.kind === 'bytes' ? 'proto' : 'json'})`

/** The row as it is sent, or null if it is large or its JSON is stale. */
export function renderedIfSmall(table: Table, { form, size }: Pick<Listing, 'form' | 'size'>): Sql {
  const isSmall = `${storedBytes(table, form)} <= ${maxSmallBytes(size)}`
  // One condition for size and shape takes 0.7 µs for 50 rows. A second `case` would take 2.5 µs.
  if (table.rendered === storedForm && form.kind === 'json')
    return raw(`case when shape = '${form.shape}' and ${isSmall} then json end`)
  return sql`case when ${raw(isSmall)} then ${table.rendered(form)} end`
}

/**
 * Returns as many of these rows, from the start, as fit into a page, but at least one. Each row starts with
 * `renderedIfSmall` and ends with the uid.
 */
export function* renderPage(table: Table, listing: Listing, rows: readonly Row[]): Work<Rendered[]> {
  const missing = uidsOfMissing(rows)
  if (missing.length === 0) return rows.map((row) => row[0] as Rendered) // none is null
  const lengths = yield* readLengths(table, listing.form, missing)
  const page = rows.slice(0, countFitting(rows, lengths))
  const missingInPage = uidsOfMissing(page)
  const large = missingInPage.filter((uid) => (lengths.get(uid) ?? 0) > maxSmallBytes(listing.size))
  const rendered = yield* readRendered(table, listing.form, large)
  const stale = missingInPage.filter((uid) => !rendered.has(uid))
  const bytes = yield* readBytes(table, stale)
  return page.map((row) => (row[0] ?? rendered.get(uidOf(row)) ?? bytes.get(uidOf(row))) as Rendered) // same snapshot: none is missing
}

const uidOf = (row: Row) => row.at(-1) as string // as selected

const uidsOfMissing = (rows: readonly Row[]) => rows.filter((row) => row[0] === null).map(uidOf)

/** How many rows fit into a page: at least one. */
function countFitting(rows: readonly Row[], lengths: ReadonlyMap<string, number>): number {
  let bytes = 0
  const end = rows.findIndex((row) => {
    // If row[0] is null, `lengths` has the row.
    bytes += lengths.get(uidOf(row)) ?? Buffer.byteLength(row[0] as Rendered)
    return bytes > maxPageBytes
  })
  return end < 0 ? rows.length : Math.max(end, 1)
}

function* readLengths(table: Table, form: Form, uids: readonly string[]): Work<Map<string, number>> {
  const rows =
    yield sql`select uid, ${raw(storedBytes(table, form))} from ${raw(table.name)} where uid in ${among(uids)}`
  return new Map(rows as [string, number][])
}

/** Leaves out rows whose JSON is stale. */
function* readRendered(table: Table, form: Form, uids: readonly string[]): Work<Map<string, Rendered>> {
  if (uids.length === 0) return new Map()
  const rows =
    yield sql`select uid, ${table.rendered(form)} from ${raw(table.name)} where uid in ${among(uids)}`
  return new Map(rows.filter((row) => row[1] !== null) as [string, Rendered][])
}
