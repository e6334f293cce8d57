// The SQL of regions: which rows lie in one, which of them come after a cursor, and in which order. Every
// condition leaves the engine one index that yields the rows in order, with one bound at either end.
import type { Sql, Value } from './sql.ts'
import { among, join, raw, sql, tuple } from './sql.ts'
import type { Table } from './table.ts'

export type Region = { kind: 'tree' | 'below' | 'children' | 'point'; uid: string }
export type Term = { column: string; descending: boolean }

export type Selection = {
  /** Conditions beside the place. */
  filters: readonly Sql[]
  /** Ends with the uid. */
  order: readonly Term[]
  /** The values of the order's columns in the last row of the page before. */
  after: readonly Value[] | undefined
  /** Whether no index helps to find the few that match: its rows would be sorted anew for each page. */
  isScanned?: boolean
}

/** What one condition can say: a region, or many points. */
export type Part = Wide | { kind: 'points'; uids: readonly string[] }
export type Wide = { kind: 'tree' | 'below' | 'children'; uid: string }
type Range = { kind: 'tree' | 'below'; uid: string }

const pointsInAPart = 1024

/** In the order of the regions, the points last. */
export function partsOf(regions: readonly Region[]): Part[] {
  const wide = regions.filter((region): region is Wide => region.kind !== 'point')
  const points = regions.filter(({ kind }) => kind === 'point').map(({ uid }) => uid)
  return [...wide, ...chunks(points, pointsInAPart).map((uids): Part => ({ kind: 'points', uids }))]
}

export const isRange = (part: Part): part is Range => part.kind === 'tree' || part.kind === 'below'

/** By the index of a place in that order; by the organization's, which is walked; or whatever their order, to be sorted. */
export type Way = 'place' | 'walk' | 'sort'

/** Limits are written into the text (a bound one is slow), so only a few different ones are used. */
export const usualSizes = [10, 50, 100, 200]

/** Undefined where the tally has to tell. */
export function clearWayOf(table: Table, part: Part, { order, filters }: Selection): Way | undefined {
  if (!isWalked(part, table) || order[0]?.column === 'uid') return 'place'
  return filters.length > 0 || (isRange(part) && isRoot(part.uid)) ? 'walk' : undefined
}

/** Whether it has no index of its own for an order. */
export const isWalked = (part: Part, table: Table): part is Wide =>
  isRange(part) || (part.kind === 'children' && !table.isOrderedInPlace)

/** The rows of a part beyond the cursor. */
export function rowsOf(part: Part, selection: Selection, way: Way): Sql {
  const { filters, order, after, isScanned = false } = selection
  const byUid = order[0]?.column === 'uid'
  if (byUid && isRange(part)) {
    const root = filters.length > 0 && !isScanned ? [sql`root = ${rootOf(part.uid)}`] : []
    return allOf([...root, uidRange(part, order, after), ...filters])
  }
  const place = way === 'walk' ? inOrganization(part) : placeOf(part)
  return allOf([place, ...filters, ...beyond(order, after)])
}

/** The rows of a part, whatever their order. */
export const withinRoot = (part: Part): Sql => (isRange(part) ? inOrganization(part) : placeOf(part))

function placeOf(part: Part): Sql {
  switch (part.kind) {
    case 'tree':
      return sql`uid >= ${part.uid} and uid < ${`${part.uid}0`}`
    case 'below':
      return sql`uid >= ${`${part.uid}/`} and uid < ${`${part.uid}0`}`
    case 'children':
      return sql`parent = ${part.uid}`
    case 'points':
      return sql`uid in ${among(part.uids)}`
  }
}

/** Written so that only the index of the organization can serve it. */
function inOrganization(part: Part): Sql {
  if (part.kind === 'points') return placeOf(part)
  if (part.kind === 'children') return sql`root = ${rootOf(part.uid)} and parent || '' = ${part.uid}`
  if (!isRoot(part.uid)) return sql`root = ${rootOf(part.uid)} and ${placeOf(part)}`
  return part.kind === 'tree' ? sql`root = ${part.uid}` : sql`root = ${part.uid} and uid <> ${part.uid}`
}

/** One lower and one upper bound, the cursor included: two lower bounds would be a scan of all between them. */
function uidRange(part: Range, order: readonly Term[], after: readonly Value[] | undefined): Sql {
  const low = part.kind === 'tree' ? part.uid : `${part.uid}/`
  const high = `${part.uid}0`
  const cursor = after?.[0] as string | undefined // the order starts with the uid
  if (cursor === undefined) return sql`uid >= ${low} and uid < ${high}`
  if (order[0]?.descending) return sql`uid >= ${low} and uid < ${cursor < high ? cursor : high}`
  return cursor >= low ? sql`uid > ${cursor} and uid < ${high}` : sql`uid >= ${low} and uid < ${high}`
}

/** Whether a cursor in order of uids has left a part behind. */
export function isPassed(part: Part, { order, after }: Selection): boolean {
  const [first] = order
  if (!after || first?.column !== 'uid' || !isRange(part)) return false
  const cursor = after[0] as string // the order starts with the uid
  return first.descending ? cursor <= part.uid : cursor >= `${part.uid}0`
}

/** What comes after the given values in the given order. */
function beyond(order: readonly Term[], after: readonly Value[] | undefined): Sql[] {
  const [first] = order
  if (!first) return []
  // No index has an order of three columns or more; the bound leads to the one that starts with the first.
  if (!after) return order.length > 2 ? [sql`${raw(first.column)} >= ${lowest(first.column)}`] : []
  if (order.some(({ descending }) => descending !== first.descending)) return [stepBeyond(order, after)]
  const columns = raw(order.map(({ column }) => column).join(', '))
  return [sql`(${columns}) ${raw(first.descending ? '<' : '>')} ${tuple(after)}`]
}

const lowest = (column: string) => (column.endsWith('_time') ? 0 : '')

/** In mixed directions, column by column; each step has a bound that an index can serve. */
function stepBeyond([term, ...terms]: readonly Term[], [value = null, ...values]: readonly Value[]): Sql {
  if (!term) return sql`1 = 0`
  const column = raw(term.column)
  const sign = term.descending ? '<' : '>'
  if (terms.length === 0) return sql`${column} ${raw(sign)} ${value}`
  return sql`${column} ${raw(`${sign}=`)} ${value}
    and (${column} ${raw(sign)} ${value} or ${stepBeyond(terms, values)})`
}

export const orderBy = (order: readonly Term[], prefix = ''): Sql =>
  raw(order.map(({ column, descending }) => `${prefix}${column}${descending ? ' desc' : ''}`).join(', '))

export const columnsOf = (order: readonly Term[], prefix = ''): Sql =>
  raw(order.map(({ column }) => prefix + column).join(', '))

const allOf = (conditions: readonly Sql[]) => join(conditions, ' and ')

export function chunks<T>(list: readonly T[], size: number): T[][] {
  const found: T[][] = []
  for (let at = 0; at < list.length; at += size) found.push(list.slice(at, at + size))
  return found
}

export const rootOf = (uid: string) => uid.split('/', 1)[0] as string // a split has at least one part
export const isRoot = (uid: string) => !uid.includes('/')
