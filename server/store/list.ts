// Pages of rows in any documented order, with exact totals. A list reads a set of regions that do not
// overlap; each region has an index that yields its rows in order, and the pages of several are merged.
import type { Row, Sql, Value } from './sql.ts'
import { join, raw, sql, tuple } from './sql.ts'
import type { Stored, Table } from './table.ts'
import { storedColumns, storedOf } from './table.ts'
import type { Count } from './tally.ts'
import { readTally } from './tally.ts'
import type { Work } from './work.ts'

export type Region = { kind: 'tree' | 'below' | 'children' | 'point'; uid: string }
export type Term = { column: string; descending: boolean }

export type Listing = {
  /** Disjoint, in order of their uids. */
  regions: readonly Region[]
  /** Further conditions; with any, totals are counted rather than read from the tally. */
  filters: readonly Sql[]
  /** Ends with the uid. */
  order: readonly Term[]
  /** The values of the order's columns in the last row of the page before. */
  after: readonly Value[] | undefined
  skip: number
  size: number
}

export type Page = {
  rows: Stored[]
  /** Where the next page starts, if there is one. */
  next: Value[] | undefined
  total: number
}

const regionsInAStatement = 40
/** Limits are written into the text (a bound one is slow), so only a few different ones are used. */
const limits = [11, 51, 101, 201]

export function* readPage(table: Table, listing: Listing): Work<Page> {
  const { regions, filters, skip, size } = listing
  const parts = partsOf(regions)
  const counts = yield* readTally(table.name, placesOf(parts))
  const total =
    filters.length > 0 ? yield* countFiltered(table, parts, filters) : yield* sumTotals(table, parts, counts)
  if (total === 0 || skip >= total || size === 0) return { rows: [], next: undefined, total }
  const found = yield* readRows(table, listing, parts, counts)
  const kept = found.slice(0, size)
  const last = kept.at(-1)
  return {
    rows: kept.map((row) => storedOf(row)),
    next: last && found.length > size ? last.slice(3) : undefined,
    total,
  }
}

/** All points together are one part. */
type Part = Region | { kind: 'points'; uids: string[]; uid: string }

function partsOf(regions: readonly Region[]): Part[] {
  const points = regions.filter(({ kind }) => kind === 'point').map(({ uid }) => uid)
  const wide = regions.filter(({ kind }) => kind !== 'point')
  return points.length === 0 ? wide : [...wide, { kind: 'points', uids: points, uid: '' }]
}

function placesOf(parts: readonly Part[]): string[] {
  const places = new Set<string>()
  for (const part of parts) {
    if (part.kind === 'points') continue
    places.add(part.uid)
    if (part.kind !== 'children') places.add(rootOf(part.uid))
  }
  return [...places]
}

function* sumTotals(table: Table, parts: readonly Part[], counts: Map<string, Count>): Work<number> {
  const points: string[] = []
  let total = 0
  for (const part of parts) {
    if (part.kind === 'points') points.push(...part.uids)
    else if (part.kind === 'children') total += counts.get(part.uid)?.children ?? 0
    else total += counts.get(part.uid)?.subtree ?? 0
    if (part.kind === 'tree' && table.isPlace) points.push(part.uid)
  }
  if (points.length === 0) return total
  const [row] = yield sql`select count(*) from ${raw(table.name)} where uid in ${tuple(points)}`
  return total + (row?.[0] as number)
}

function* countFiltered(table: Table, parts: readonly Part[], filters: readonly Sql[]): Work<number> {
  let total = 0
  for (const some of chunks(parts)) {
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
  const { order, skip, size } = listing
  const limit = limits.find((some) => some > size) ?? size + 1
  const [only] = parts
  if (only && parts.length === 1) return yield select(table, listing, only, counts, limit, skip)
  const rows: Row[] = []
  for (const some of chunks(parts)) {
    // Whatever is skipped may come from any part, so each yields as many as could be.
    const selects = some.map(
      (part) => sql`select * from (${select(table, listing, part, counts, limit + skip, 0)}) part`,
    )
    const union = sql`select * from (${join(selects, ' union all ')}) parts order by ${orderBy(order)}`
    rows.push(...(yield sql`${union} limit ${raw(String(limit + skip))}`))
  }
  if (parts.length > regionsInAStatement) rows.sort(compareBy(order))
  return rows.slice(skip)
}

function select(
  table: Table,
  listing: Listing,
  part: Part,
  counts: Map<string, Count>,
  limit: number,
  skip: number,
): Sql {
  const { order } = listing
  const page = skip > 0 ? sql`limit ${raw(String(limit))} offset ${skip}` : raw(`limit ${limit}`)
  if (isSorted(part, listing, counts, limit)) return sorted(table, listing, part, page)
  const columns = raw(order.map(({ column }) => column).join(', '))
  return sql`select ${storedColumns}, ${columns} from ${raw(table.name)}
    where ${conditions(part, listing)} order by ${orderBy(order)} ${page}`
}

/**
 * Below a group, in an order other than by uid, there are two ways: walk the organization's index and keep
 * what lies below, or take all that lies below and sort it. The tally tells which is cheaper, so that the
 * worst case grows with the square root of the organization.
 */
function isSorted(
  part: Part,
  { order, filters }: Listing,
  counts: Map<string, Count>,
  limit: number,
): boolean {
  if (part.kind !== 'tree' && part.kind !== 'below') return false
  if (filters.length > 0 || order[0]?.column === 'uid' || isRoot(part.uid)) return false
  const inside = counts.get(part.uid)?.subtree ?? 0
  const around = counts.get(rootOf(part.uid))?.subtree ?? 0
  return inside * inside <= limit * around
}

/** Sorts the keys alone and fetches the rows of the page afterwards. */
function sorted(table: Table, { order, after }: Listing, part: Part, page: Sql): Sql {
  const columns = order.map(({ column }) => column)
  const where = join([range(part), ...(after ? [beyond(order, after)] : [])], ' and ')
  return sql`select ${storedColumns}, ${raw(columns.map((column) => `t.${column}`).join(', '))}
    from (select ${raw(columns.join(', '))} from ${raw(table.name)} where ${where}
      order by ${orderBy(order)} ${page}) k
    join ${raw(table.name)} t on t.uid = k.uid order by ${orderBy(order, 't.')}`
}

function conditions(part: Part, { order, after, filters }: Listing): Sql {
  const byUid = order[0]?.column === 'uid'
  const bound = after && !(byUid && isRange(part)) ? [beyond(order, after)] : []
  const place = byUid && filters.length === 0 ? uidRange(part, order, after) : walk(part, filters.length > 0)
  return join([place, ...filters, ...bound], ' and ')
}

const isRange = (part: Part) => part.kind === 'tree' || part.kind === 'below'

/** The rows of a part by its own index, whatever their order. */
function range(part: Part): Sql {
  switch (part.kind) {
    case 'tree':
      return sql`uid >= ${part.uid} and uid < ${`${part.uid}0`}`
    case 'below':
      return sql`uid >= ${`${part.uid}/`} and uid < ${`${part.uid}0`}`
    case 'children':
      return sql`parent = ${part.uid}`
    case 'points':
      return sql`uid in ${tuple(part.uids)}`
    case 'point':
      return sql`uid = ${part.uid}`
  }
}

/** One lower and one upper bound, the cursor included: two lower bounds would be a scan of all between them. */
function uidRange(part: Part, order: readonly Term[], after: readonly Value[] | undefined): Sql {
  if (!isRange(part)) return range(part)
  const low = part.kind === 'tree' ? part.uid : `${part.uid}/`
  const high = `${part.uid}0`
  const cursor = after?.[0] as string | undefined
  if (cursor === undefined) return sql`uid >= ${low} and uid < ${high}`
  if (order[0]?.descending) return sql`uid >= ${low} and uid < ${cursor < high ? cursor : high}`
  return cursor >= low ? sql`uid > ${cursor} and uid < ${high}` : sql`uid >= ${low} and uid < ${high}`
}

/** The rows of a part by the organization's index; `uid || ''` hides the uid from the planner, so that it is kept to it. */
function walk(part: Part, filtered: boolean): Sql {
  if (!isRange(part)) return range(part)
  if (filtered) return withinRoot(part)
  if (isRoot(part.uid)) {
    return part.kind === 'tree'
      ? sql`root = ${part.uid}`
      : sql`root = ${part.uid} and uid || '' <> ${part.uid}`
  }
  const low = part.kind === 'tree' ? part.uid : `${part.uid}/`
  return sql`root = ${rootOf(part.uid)} and uid || '' >= ${low} and uid || '' < ${`${part.uid}0`}`
}

function withinRoot(part: Part): Sql {
  return isRange(part) ? sql`root = ${rootOf(part.uid)} and ${range(part)}` : range(part)
}

/** What comes after the given values in the given order. */
function beyond(order: readonly Term[], after: readonly Value[]): Sql {
  const [first] = order
  if (order.every(({ descending }) => descending === first?.descending)) {
    const columns = raw(order.map(({ column }) => column).join(', '))
    return sql`(${columns}) ${raw(first?.descending ? '<' : '>')} ${tuple(after)}`
  }
  const steps = order.map(({ column, descending }, at) => {
    const equal = order
      .slice(0, at)
      .map((term, before) => sql`${raw(term.column)} = ${after[before] ?? null}`)
    return join([...equal, sql`${raw(column)} ${raw(descending ? '<' : '>')} ${after[at] ?? null}`], ' and ')
  })
  return sql`(${join(
    steps.map((step) => sql`(${step})`),
    ' or ',
  )})`
}

const orderBy = (order: readonly Term[], prefix = '') =>
  raw(order.map(({ column, descending }) => `${prefix}${column}${descending ? ' desc' : ''}`).join(', '))

function compareBy(order: readonly Term[]) {
  return (a: Row, b: Row) => {
    for (const [at, { descending }] of order.entries()) {
      const difference = compareValues(a[at + 3] ?? null, b[at + 3] ?? null)
      if (difference !== 0) return descending ? -difference : difference
    }
    return 0
  }
}

/** As both engines compare: numbers by size, text by its bytes. */
function compareValues(a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))
}

function* chunks<T>(list: readonly T[]): Generator<T[]> {
  for (let at = 0; at < list.length; at += regionsInAStatement) yield list.slice(at, at + regionsInAStatement)
}

const rootOf = (uid: string) => uid.split('/', 1)[0] as string // a split has at least one part
const isRoot = (uid: string) => !uid.includes('/')
