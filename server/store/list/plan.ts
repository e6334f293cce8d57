// Decides how a list is read; read-page.ts runs the plan.
import { StoreError } from '../store-error.ts'
import type { Table } from '../table.ts'
import type { Count } from '../tally.ts'
import { readTally } from '../tally.ts'
import type { Work } from '../work.ts'
import type { Listing } from './listing.ts'
import { isByUid } from './order-sql.ts'
import type { AccessPath, Scan } from './region-sql.ts'
import { isBeforeCursor } from './region-sql.ts'
import type { GroupRegion, ScanRegion, SubtreeRegion } from './scan-region.ts'
import {
  chunks,
  isGroupRegion,
  isRoot,
  isSubtree,
  rootOf,
  toScanRegions,
  usesOrganizationIndex,
} from './scan-region.ts'

export type Plan = JoinedPlan | RowsPlan

/**
 * For a list of one region, in the order of one index, as JSON: one statement returns the page as one text, its total
 * and the next cursor. Most lists are of this kind.
 */
export type JoinedPlan = { kind: 'joined'; region: GroupRegion; access: AccessPath }

/** Each row is read as a value of its own, and the total by a separate statement. */
export type RowsPlan = { total: Total } & (
  | { kind: 'empty' }
  /** One index yields the rows in order. */
  | { kind: 'indexed'; scan: Scan }
  /** The rows are selected by a list of uids, and ordered by uid. */
  | { kind: 'points'; scan: Scan }
  /** One statement merges, sorts and skips the keys of the scans, then reads only the rows of the page. */
  | { kind: 'merged'; scans: readonly Scan[] }
  /**
   * More scans than one statement can contain: each batch is a statement, and this process merges their keys.
   * `isSequence`: all keys of a batch precede those of the next.
   */
  | { kind: 'batched'; batches: readonly (readonly Scan[])[]; isSequence: boolean }
)

/**
 * Without filters, the totals of group regions are read from the tally, and only points are counted. With filters, all
 * rows are counted.
 */
export type Total =
  | { kind: 'tallied'; sum: number; points: readonly string[] }
  | { kind: 'counted'; regions: readonly ScanRegion[] }

type Counts = ReadonlyMap<string, Count>

/**
 * The page sizes to which the limits of statements are rounded up. A limit is part of the SQL text, because both
 * engines plan badly if it is a parameter. Rounding keeps the number of distinct texts small.
 */
export const pageSizes = [10, 50, 100, 200]

export const scansPerStatement = 40

/** A scan takes as long as reading this many rows. Measured on SQLite. */
const rowsPerScan = 50

/** Reads the tally if the plan depends on it. */
export function* planList(table: Table, listing: Listing): Work<Plan> {
  const regions = toScanRegions(listing.regions)
  return planJoined(table, listing, regions) ?? (yield* planRowsOf(table, listing, regions))
}

/** A plan that does not join the rows to one text, for any list. */
export const planRows = (table: Table, listing: Listing): Work<RowsPlan> =>
  planRowsOf(table, listing, toScanRegions(listing.regions))

function planJoined(table: Table, listing: Listing, regions: readonly ScanRegion[]): JoinedPlan | undefined {
  const { order, filters, skip, size, form } = listing
  const [region, ...others] = regions
  if (!region || !isGroupRegion(region) || others.length > 0 || filters.length > 0) return undefined
  if (skip > 0 || order.length > 2 || isBeforeCursor(region, listing)) return undefined
  if (form.kind !== 'json' || !pageSizes.includes(size)) return undefined
  const access = fixedAccess(table, region, listing)
  return access && { kind: 'joined', region, access }
}

function* planRowsOf(table: Table, listing: Listing, regions: readonly ScanRegion[]): Work<RowsPlan> {
  const { filters, skip, scansInOrder = false, maxRows } = listing
  const isLimitedScan = filters.length > 0 && scansInOrder && maxRows !== undefined
  const needsTally = filters.length === 0 || regions.length > scansPerStatement || isLimitedScan
  const counts = needsTally ? yield* readTally(table.name, talliedGroups(table, regions)) : new Map()
  const scannedRows = isLimitedScan ? rowsInAll(table, regions, counts) : 0
  // In a list by uid without filters, the regions follow each other, and only the first ones are read.
  const scanCount = isByUid(listing.order) && filters.length === 0 ? 1 : regions.length
  if (maxRows !== undefined && skip + scannedRows + scanCount * rowsPerScan > maxRows)
    throw new StoreError('expensive')
  return chooseRowsPlan(table, listing, regions, counts)
}

/** The groups whose counts the total and the choice of access depend on. */
function talliedGroups(table: Table, regions: readonly ScanRegion[]): string[] {
  const groups = new Set<string>()
  for (const region of regions) {
    if (!isGroupRegion(region)) continue
    groups.add(region.uid)
    if (usesOrganizationIndex(region, table)) groups.add(rootOf(region.uid))
  }
  return [...groups]
}

export function chooseRowsPlan(
  table: Table,
  listing: Listing,
  regions: readonly ScanRegion[],
  counts: Counts,
): RowsPlan {
  const { order, skip } = listing
  const scanned = regions.length > scansPerStatement ? combined(table, listing, regions, counts) : regions
  const total =
    listing.filters.length > 0
      ? ({ kind: 'counted', regions: scanned } as const)
      : talliedTotal(table, regions, counts)
  const scans = scanned
    .filter((region) => !isBeforeCursor(region, listing))
    .map((region): Scan => ({ region, access: accessOf(table, region, listing, counts) }))
  const [scan, ...others] = scans
  if (!scan) return { kind: 'empty', total }
  const isInOrder = others.length === 0 && skip === 0 && order.length <= 2 && scan.access !== 'sort'
  if (isInOrder && isGroupRegion(scan.region)) return { kind: 'indexed', scan, total }
  // In an order other than by uid, this plan would read and sort the complete rows of all points; a merged plan sorts
  // only their keys.
  if (isInOrder && scan.region.kind === 'points' && isByUid(order)) return { kind: 'points', scan, total }
  if (scans.length <= scansPerStatement) return { kind: 'merged', scans, total }
  const isSequence = isByUid(order) && scans.every(({ region }) => isSubtree(region))
  const isBackward = isSequence && order[0]?.descending
  const batches = chunks(isBackward ? scans.toReversed() : scans, scansPerStatement)
  return { kind: 'batched', batches, isSequence, total }
}

/**
 * Up to this number of rows, reading a subtree together with others costs less than a scan of its own, which takes as
 * long as reading about 50 rows. Measured on SQLite.
 */
const maxSmallSubtreeRows = 50
const subtreesPerScan = 512

/**
 * Reduces the number of scans, because a caller with many bindings has many regions, of which most are small or empty.
 * Regions that the tally shows to be empty are left out, and small regions are read together and sorted. A list by uid
 * without filters or skipped rows reads one region after the other and stops when the page is full, so its small
 * regions are scanned separately.
 */
function combined(
  table: Table,
  { order, filters, skip }: Listing,
  regions: readonly ScanRegion[],
  counts: Counts,
): ScanRegion[] {
  const nonEmpty = regions.filter((region) => rowsIn(table, region, counts) > 0)
  if (isByUid(order) && filters.length === 0 && skip === 0) return nonEmpty
  const isSmall = (region: ScanRegion): region is SubtreeRegion =>
    isSubtree(region) && rowsIn(table, region, counts) <= maxSmallSubtreeRows
  const small = nonEmpty.filter(isSmall)
  const subtreeSets = chunks(small, subtreesPerScan).map(
    (subtrees): ScanRegion => ({ kind: 'subtrees', table: table.name, subtrees }),
  )
  return [...nonEmpty.filter((region) => !isSmall(region)), ...subtreeSets]
}

/** The number of rows in a region, from the tally; infinity for `subtrees`, which are not counted. */
function rowsIn({ hasGroupUids }: Table, region: ScanRegion, counts: Counts): number {
  if (region.kind === 'points') return region.uids.length
  if (!isGroupRegion(region)) return Number.POSITIVE_INFINITY
  const { children = 0, subtree = 0 } = counts.get(region.uid) ?? {}
  if (region.kind === 'children') return children
  return subtree + (region.kind === 'tree' && hasGroupUids ? 1 : 0)
}

const rowsInAll = (table: Table, regions: readonly ScanRegion[], counts: Counts) =>
  regions.reduce((sum, region) => sum + rowsIn(table, region, counts), 0)

function talliedTotal(table: Table, regions: readonly ScanRegion[], counts: Counts): Total {
  const points: string[] = []
  let sum = 0
  for (const region of regions) {
    if (region.kind === 'points') points.push(...region.uids)
    if (!isGroupRegion(region)) continue
    if (region.kind === 'children') sum += counts.get(region.uid)?.children ?? 0
    else sum += counts.get(region.uid)?.subtree ?? 0
    if (region.kind === 'tree' && table.hasGroupUids) points.push(region.uid)
  }
  return { kind: 'tallied', sum, points }
}

/** The access path, if it can be chosen without counts. */
function fixedAccess(table: Table, region: ScanRegion, { order, filters }: Listing): AccessPath | undefined {
  if (!usesOrganizationIndex(region, table) || isByUid(order)) return 'own-index'
  const isWholeOrganization = isSubtree(region) && isRoot(region.uid)
  return filters.length > 0 || isWholeOrganization ? 'organization-index' : undefined
}

/**
 * In a group, in an order other than by uid, either the organization's index is scanned and rows outside the group are
 * skipped, or all rows of the group are read and sorted. The tally shows which is cheaper. If the rows of the group are
 * spread evenly, the number of rows read for a page grows at most with the square root of the size of the organization.
 */
function accessOf(table: Table, region: ScanRegion, listing: Listing, counts: Counts): AccessPath {
  const fixed = fixedAccess(table, region, listing)
  if (fixed) return fixed
  const { uid } = region as GroupRegion // the access of points is fixed
  const { children = 0, subtree = 0 } = counts.get(uid) ?? {}
  const inRegion = isSubtree(region) ? subtree : children
  const inOrganization = counts.get(rootOf(uid))?.subtree ?? 0
  const rowsNeeded = limitOf(listing.size) + listing.skip
  return sortCost * inRegion * inRegion <= rowsNeeded * inOrganization ? 'sort' : 'organization-index'
}

/** Reading and sorting one row costs as much as skipping this many index entries. Measured on both engines. */
const sortCost = 8

/** The number of rows to read for a page: at least one more than its size, to find out whether there is a next page. */
export const limitOf = (size: number): number => (pageSizes.find((pageSize) => pageSize >= size) ?? size) + 1
