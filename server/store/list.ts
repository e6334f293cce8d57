// Pages of rows in any documented order, with exact totals. A list reads a set of regions that do not
// overlap; each region has an index that yields its rows in order, and the engine merges those of several.
import { readJoined } from './joined-page.ts'
import type { Listing, Page, Run } from './page.ts'
import type { Part, Selection, Term, Way, Wide } from './region-sql.ts'
import {
  chunks,
  clearWayOf,
  columnsOf,
  isPassed,
  isRange,
  isWalked,
  orderBy,
  partsOf,
  rootOf,
  rowsOf,
  usualSizes,
  withinRoot,
} from './region-sql.ts'
import type { Row, Sql, Value } from './sql.ts'
import { among, join, raw, sql } from './sql.ts'
import type { Form, Rendered, Table } from './table.ts'
import { readBytes } from './table.ts'
import type { Count } from './tally.ts'
import { readTally } from './tally.ts'
import type { Work } from './work.ts'

const partsInAStatement = 40
const pointsInAStatement = 1024
/** More than each of the usual sizes, to see whether there are more. */
const limits = usualSizes.map((size) => size + 1)

export function* readPage(table: Table, listing: Listing): Work<Page> {
  const { filters, skip, size } = listing
  const parts = partsOf(listing.regions)
  const joined = yield* readJoined(table, listing, parts)
  if (joined) return joined
  const isCounted = filters.length > 0
  const counts = isCounted ? new Map() : yield* readTally(table.name, placesOf(table, parts))
  const total = isCounted ? yield* countRows(table, parts, filters) : yield* sumTallies(table, parts, counts)
  if (skip >= total || size === 0) return { rows: [], next: undefined, total }
  const run = yield* runOf(table, listing, parts, counts)
  return { ...run, total }
}

/** A page of a list that is read to its end. It has no total, which with filters would be counted for each. */
export function* readRun(table: Table, listing: Listing): Work<Run> {
  const parts = partsOf(listing.regions)
  const isTallied = listing.filters.length === 0
  const counts = isTallied ? yield* readTally(table.name, placesOf(table, parts)) : new Map()
  return yield* runOf(table, { ...listing, isScanned: true }, parts, counts)
}

function* runOf(
  table: Table,
  listing: Listing,
  parts: readonly Part[],
  counts: Map<string, Count>,
): Work<Run> {
  const found = yield* readRows(table, listing, parts, counts)
  const kept = found.slice(0, listing.size)
  const last = found.length > listing.size ? kept.at(-1) : undefined
  return { rows: yield* rendered(table, kept), next: last?.slice(1) }
}

/** An order ends with the uid, and so does a row of a page. */
function* rendered(table: Table, rows: readonly Row[]): Work<Rendered[]> {
  const stale = rows.filter((row) => row[0] === null).map((row) => row.at(-1) as string)
  if (stale.length === 0) return rows.map((row) => row[0] as Rendered)
  const bytes = yield* readBytes(table, stale)
  return rows.map((row) => (row[0] ?? bytes.get(row.at(-1) as string)) as Rendered) // of the same moment
}

function placesOf(table: Table, parts: readonly Part[]): string[] {
  const places = new Set<string>()
  for (const part of parts) {
    if (part.kind === 'points') continue
    places.add(part.uid)
    if (isWalked(part, table)) places.add(rootOf(part.uid))
  }
  return [...places]
}

function* sumTallies(table: Table, parts: readonly Part[], counts: Map<string, Count>): Work<number> {
  const points: string[] = []
  let total = 0
  for (const part of parts) {
    if (part.kind === 'points') points.push(...part.uids)
    else if (part.kind === 'children') total += counts.get(part.uid)?.children ?? 0
    else total += counts.get(part.uid)?.subtree ?? 0
    if (part.kind === 'tree' && table.isAtPlaces) points.push(part.uid)
  }
  for (const some of chunks(points, pointsInAStatement)) {
    const [row] = yield sql`select count(*) from ${raw(table.name)} where uid in ${among(some)}`
    total += row?.[0] as number
  }
  return total
}

function* countRows(table: Table, parts: readonly Part[], filters: readonly Sql[]): Work<number> {
  let total = 0
  for (const some of chunks(parts, partsInAStatement)) {
    const counts = some.map(
      (part) =>
        sql`(select count(*) from ${raw(table.name)} where ${join([withinRoot(part), ...filters], ' and ')})`,
    )
    const [row] = yield sql`select ${join(counts, ' + ')}`
    total += row?.[0] as number
  }
  return total
}

/** More than `size` rows where there are more: the stored form, then the values of the order's columns. */
function* readRows(
  table: Table,
  listing: Listing,
  parts: readonly Part[],
  counts: Map<string, Count>,
): Work<Row[]> {
  const { order, skip, size, form } = listing
  const limit = limits.find((some) => some > size) ?? size + 1
  const left = parts.filter((part) => !isPassed(part, listing))
  const ways = left.map((part) => wayOf(table, part, listing, counts, limit + skip))
  const wheres = left.map((part, at) => rowsOf(part, listing, ways[at] ?? 'place'))
  const [only, ...others] = wheres
  if (!only) return []
  const isServed = others.length === 0 && skip === 0 && order.length <= 2 && ways[0] !== 'sort'
  if (isServed) return yield selectRows(table, form, order, only, limit)
  if (wheres.length <= partsInAStatement) {
    const keys = selectKeys(table, order, wheres, pageOf(limit, skip), limit + skip)
    return yield selectByKeys(table, form, order, keys)
  }
  const isSequence = order[0]?.column === 'uid' && left.every(isRange)
  const keys = yield* mergeKeys(table, order, wheres, limit + skip, isSequence)
  const uids = keys.slice(skip).map((key) => key.at(-1) ?? null)
  return uids.length === 0 ? [] : yield selectRows(table, form, order, sql`uid in ${among(uids)}`, limit)
}

/**
 * Below a group, in an order other than by uid, there are two ways: walk the organization's index and keep
 * what lies below, or take all that lies below and sort it. The tally tells which is cheaper, so that the
 * cost grows with the square root of the organization.
 */
function wayOf(
  table: Table,
  part: Part,
  selection: Selection,
  counts: Map<string, Count>,
  rows: number,
): Way {
  const clear = clearWayOf(table, part, selection)
  if (clear) return clear
  const { uid } = part as Wide // one of points is clear
  const { children = 0, subtree = 0 } = counts.get(uid) ?? {}
  const inside = isRange(part) ? subtree : children
  const around = counts.get(rootOf(uid))?.subtree ?? 0
  return costOfSorting * inside * inside <= rows * around ? 'sort' : 'walk'
}

/** Measured on both engines: a row that is fetched and sorted, against an entry of an index that is passed. */
const costOfSorting = 8

/** Where one index serves the whole order. */
const selectRows = (table: Table, form: Form, order: readonly Term[], where: Sql, limit: number) =>
  sql`select ${table.rendered(form)}, ${columnsOf(order)} from ${raw(table.name)} where ${where}
    order by ${orderBy(order)} ${pageOf(limit, 0)}`

/** Sorting, merging and skipping touch the keys alone; only the rows of the page are fetched. */
const selectByKeys = (table: Table, form: Form, order: readonly Term[], keys: Sql) =>
  sql`select ${table.rendered(form)}, ${columnsOf(order, `${table.name}.`)} from (${keys}) k
    join ${raw(table.name)} on ${raw(table.name)}.uid = k.uid order by ${orderBy(order, 'k.')}`

/**
 * SQLite merges the arms as they are. PostgreSQL merges where each has an order and says how much of it may be
 * wanted (`rows`), for which a round number is enough and makes few texts.
 */
function selectKeys(
  table: Table,
  order: readonly Term[],
  wheres: readonly Sql[],
  page: Sql,
  rows: number,
): Sql {
  const arms = wheres.map((where) => sql`select ${columnsOf(order)} from ${raw(table.name)} where ${where}`)
  const end = sql`order by ${orderBy(order)} ${page}`
  if (arms.length === 1) return sql`${join(arms, '')} ${end}`
  const most = raw(String(2 ** Math.ceil(Math.log2(rows))))
  const merged = arms.map((arm) => sql`/*pg ( */ ${arm} /*pg order by ${orderBy(order)} limit ${most} ) */`)
  return sql`${join(merged, ' union all ')} ${end}`
}

const pageOf = (limit: number, skip: number) =>
  skip > 0 ? sql`limit ${raw(String(limit))} offset ${skip}` : raw(`limit ${limit}`)

/** The first keys of more parts than a statement holds. A sequence of parts is read only as far as needed. */
function* mergeKeys(
  table: Table,
  order: readonly Term[],
  wheres: readonly Sql[],
  most: number,
  isSequence: boolean,
): Work<Row[]> {
  const isBackward = isSequence && order[0]?.descending
  let keys: Row[] = []
  for (const some of chunks(isBackward ? wheres.toReversed() : wheres, partsInAStatement)) {
    const more: Row[] = yield selectKeys(table, order, some, sql`limit ${most}`, most)
    keys = keys.concat(more)
    if (!isSequence) keys = keys.sort(compareBy(order)).slice(0, most)
    else if (keys.length >= most) break
  }
  return keys.slice(0, most)
}

function compareBy(order: readonly Term[]) {
  return (a: Row, b: Row) => {
    for (const [at, { descending }] of order.entries()) {
      const difference = compareValues(a[at] ?? null, b[at] ?? null)
      if (difference !== 0) return descending ? -difference : difference
    }
    return 0
  }
}

/** As both engines compare: numbers by size, text by its bytes. */
function compareValues(a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return a === b ? 0 : Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))
}
