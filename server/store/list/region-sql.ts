// The conditions that select the rows of a region. Each is written so that the engine can read the
// rows in order from one index, between one lower and one upper bound.
import { hasExpiredAt, isLiveAt } from '../expiry.ts'
import type { Sql, Value } from '../sql.ts'
import { among, join, raw, sql } from '../sql.ts'
import type { Listing, Term } from './listing.ts'
import { afterCursor, isByUid } from './order-sql.ts'
import type { ScanRegion, SubtreeRegion } from './scan-region.ts'
import { isRoot, isSubtree, rootOf } from './scan-region.ts'

/**
 * The index that a scan uses, for orders other than by uid:
 * - `own-index`: the region's own index, which has the order
 * - `organization-index`: the index of the organization, which has the order, skipping rows outside the region
 * - `sort`: the index of uids, sorting the rows afterwards
 */
export type AccessPath = 'own-index' | 'organization-index' | 'sort'

export type Scan = { region: ScanRegion; access: AccessPath }

type Selection = Pick<Listing, 'filters' | 'order' | 'after' | 'scansInOrder' | 'liveAt'>

/** The condition for the rows of a scan that match the filters and follow the cursor. */
export function scanCondition({ region, access }: Scan, selection: Selection): Sql {
  const { filters, order, after, scansInOrder = false } = selection
  const conditions = [...filters, ...live(selection)]
  if (isByUid(order) && isSubtree(region)) {
    const root = filters.length > 0 && !scansInOrder ? [sql`root = ${rootOf(region.uid)}`] : []
    return join([...root, uidRange(region, order, after), ...conditions], ' and ')
  }
  const inRegion = access === 'organization-index' ? inOrganization(region) : inRegionOf(region)
  return join([inRegion, ...conditions, ...afterCursor(order, after)], ' and ')
}

/** The condition for all rows of a region that match the filters. */
export const regionCondition = (region: ScanRegion, listing: Pick<Selection, 'filters' | 'liveAt'>): Sql => {
  const inRegion = isSubtree(region) ? inOrganization(region) : inRegionOf(region)
  return join([inRegion, ...listing.filters, ...live(listing)], ' and ')
}

/** The condition for the rows of a region that have expired, without filters. */
export const expiredCondition = (region: ScanRegion, time: number): Sql =>
  sql`${inOrganization(region)} and ${hasExpiredAt(time)}`

const live = ({ liveAt }: Pick<Selection, 'liveAt'>): Sql[] =>
  liveAt === undefined ? [] : [isLiveAt(liveAt)]

/** `0` is the character after `/`, so `UID0` follows all uids below UID. */
function inRegionOf(region: ScanRegion): Sql {
  switch (region.kind) {
    case 'tree':
      return sql`uid >= ${region.uid} and uid < ${`${region.uid}0`}`
    case 'below':
      return sql`uid >= ${`${region.uid}/`} and uid < ${`${region.uid}0`}`
    case 'children':
      return sql`parent = ${region.uid}`
    case 'points':
      return sql`uid in ${among(region.uids)}`
    case 'subtrees':
      return inSubtrees(region.table, region.subtrees)
  }
}

/**
 * One range of the primary key for each subtree; the cross join fixes the order of the joins. PostgreSQL would expect
 * far too many rows and scan the whole table, so it gets an array, for which it always uses the index. As in `among`,
 * the last range is repeated up to a power of two, so that there are few distinct SQL texts.
 */
function inSubtrees(table: string, subtrees: readonly SubtreeRegion[]): Sql {
  const length = 2 ** Math.ceil(Math.log2(subtrees.length))
  const ranges = Array.from({ length }, (_, at) => {
    const { kind, uid } = subtrees[Math.min(at, subtrees.length - 1)] as SubtreeRegion // there is at least one
    return sql`(${kind === 'tree' ? uid : `${uid}/`}, ${`${uid}0`})`
  })
  return sql`uid /*pg = any (array( -- */ in (
    select t.uid from (values ${join(ranges, ', ')}) r cross join ${raw(table)} t
    where t.uid >= r.column1 and t.uid < r.column2) /*pg ) */`
}

/** Written so that only an index of the organization can be used: `parent || ''` rules out the index on `parent`. */
function inOrganization(region: ScanRegion): Sql {
  if (region.kind === 'points' || region.kind === 'subtrees') return inRegionOf(region)
  const { kind, uid } = region
  if (kind === 'children') return sql`root = ${rootOf(uid)} and parent || '' = ${uid}`
  if (!isRoot(uid)) return sql`root = ${rootOf(uid)} and ${inRegionOf(region)}`
  return kind === 'tree' ? sql`root = ${uid}` : sql`root = ${uid} and uid <> ${uid}`
}

/** One lower and one upper bound. A cursor replaces one: with two lower bounds SQLite would scan from the smaller. */
function uidRange(region: SubtreeRegion, order: readonly Term[], after: readonly Value[] | undefined): Sql {
  const low = region.kind === 'tree' ? region.uid : `${region.uid}/`
  const high = `${region.uid}0`
  const cursor = after?.[0] as string | undefined // the order starts with the uid
  if (cursor === undefined) return sql`uid >= ${low} and uid < ${high}`
  if (order[0]?.descending) return sql`uid >= ${low} and uid < ${cursor < high ? cursor : high}`
  return cursor >= low ? sql`uid > ${cursor} and uid < ${high}` : sql`uid >= ${low} and uid < ${high}`
}

/** Whether the whole region precedes the cursor, in an order by uid. */
export function isBeforeCursor(region: ScanRegion, { order, after }: Selection): boolean {
  const [first] = order
  if (!after || first?.column !== 'uid' || !isSubtree(region)) return false
  const cursor = after[0] as string // the order starts with the uid
  return first.descending ? cursor <= region.uid : cursor >= `${region.uid}0`
}
