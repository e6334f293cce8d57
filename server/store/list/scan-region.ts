// The regions of a list as index scans read them.
import type { Table } from '../table.ts'
import type { Region } from './listing.ts'

/**
 * One scan reads one region of one group, or many points, or many small subtrees. `table` is the table of the list,
 * which the SQL for subtrees joins with their ranges of uids.
 */
export type ScanRegion =
  | GroupRegion
  | { kind: 'points'; uids: readonly string[] }
  | { kind: 'subtrees'; table: string; subtrees: readonly SubtreeRegion[] }

export type GroupRegion = { kind: 'tree' | 'below' | 'children'; uid: string }

/** A region whose rows are one range of uids. */
export type SubtreeRegion = { kind: 'tree' | 'below'; uid: string }

/** The maximum number of uids in one condition. */
export const pointsPerScan = 1024

/** Keeps the order of the regions, except that points are last. */
export function toScanRegions(regions: readonly Region[]): ScanRegion[] {
  const [only, ...others] = regions
  if (only && others.length === 0 && isGroupRegion(only)) return [only]
  const points = regions.filter(({ kind }) => kind === 'point').map(({ uid }) => uid)
  const pointSets = chunks(points, pointsPerScan).map((uids): ScanRegion => ({ kind: 'points', uids }))
  return [...regions.filter(isGroupRegion), ...pointSets]
}

export const isGroupRegion = (region: Region | ScanRegion): region is GroupRegion =>
  region.kind === 'tree' || region.kind === 'below' || region.kind === 'children'

export const isSubtree = (region: ScanRegion): region is SubtreeRegion =>
  region.kind === 'tree' || region.kind === 'below'

/** Whether a scan in an order other than by uid must use an index of the whole organization. */
export const usesOrganizationIndex = (region: ScanRegion, table: Table): region is GroupRegion =>
  isSubtree(region) || (region.kind === 'children' && !table.isIndexedByParent)

export const rootOf = (uid: string) => uid.split('/', 1)[0] as string // a split has at least one part
export const isRoot = (uid: string) => !uid.includes('/')

export function chunks<T>(list: readonly T[], size: number): T[][] {
  const parts: T[][] = []
  for (let at = 0; at < list.length; at += size) parts.push(list.slice(at, at + size))
  return parts
}
