// Parts of the tree, and what two of them share. Uids are paths, so this needs no look-up. What a caller
// may see and what a list asks for are both sets of regions; a list reads the regions they share.
import { isAtOrBelow, isBelow, lineage, parentOf } from './uid.ts'

export type Region =
  /** A place and everything below it. */
  | { kind: 'tree'; uid: string }
  /** Everything below a place. */
  | { kind: 'below'; uid: string }
  /** What lies directly below a place; `` is the place above all roots. */
  | { kind: 'children'; uid: string }
  /** One resource. */
  | { kind: 'point'; uid: string }

export function contains(region: Region, uid: string): boolean {
  switch (region.kind) {
    case 'tree':
      return isAtOrBelow(uid, region.uid)
    case 'below':
      return isBelow(uid, region.uid)
    case 'children':
      return parentOf(uid) === region.uid
    case 'point':
      return uid === region.uid
  }
}

export function intersect(a: Region, b: Region): Region | undefined {
  if (a.kind === 'point') return contains(b, a.uid) ? a : undefined
  if (b.kind === 'point') return contains(a, b.uid) ? b : undefined
  if (a.kind === 'children' && b.kind === 'children') return a.uid === b.uid ? a : undefined
  if (a.kind === 'children') return childrenWithin(a, b)
  if (b.kind === 'children') return childrenWithin(b, a)
  if (a.uid === b.uid) return a.kind === 'below' ? a : b
  if (isBelow(a.uid, b.uid)) return a
  if (isBelow(b.uid, a.uid)) return b
  return undefined
}

/** The children of a place, as far as they lie in a tree or below something. */
function childrenWithin(children: Region, wide: Region): Region | undefined {
  if (isAtOrBelow(children.uid, wide.uid)) return children
  const reaches = wide.kind === 'tree' && parentOf(wide.uid) === children.uid
  return reaches ? { kind: 'point', uid: wide.uid } : undefined
}

/**
 * What two sets of regions share, in order of their uids. `some` must be in that order and must not overlap.
 * Whatever meets a region starts at it, above it or below it, so a search over the sorted uids finds it: the
 * work grows with the size of the sets and of the result, not with the product of the sets.
 */
export function intersectAll(some: readonly Region[], others: readonly Region[]): Region[] {
  const shared: Region[] = []
  for (const other of others) {
    for (const place of new Set(['', ...lineage(other.uid)])) {
      meet(firstAtOrAfter(some, place), (region) => region.uid === place, other)
    }
    // Nothing that starts below a resource holds the resource.
    if (other.kind === 'point') continue
    const firstBelow = other.uid === '' ? rootLevel : `${other.uid}/`
    meet(firstAtOrAfter(some, firstBelow), (region) => isBelow(region.uid, other.uid), other)
  }
  return disjoint(shared)

  function meet(from: number, isNear: (region: Region) => boolean, other: Region) {
    for (let at = from; at < some.length; at++) {
      const region = some[at] as Region // at is below the length
      if (!isNear(region)) break
      const both = intersect(region, other)
      if (both) shared.push(both)
    }
  }
}

/** Comes before every uid and after ``. */
const rootLevel = '0'

function firstAtOrAfter(regions: readonly Region[], uid: string): number {
  let low = 0
  let high = regions.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((regions[middle] as Region).uid < uid)
      low = middle + 1 // middle is below the length
    else high = middle
  }
  return low
}

/** The same uids as regions that do not overlap, in order of their uids. */
export function disjoint(regions: readonly Region[]): Region[] {
  if (regions.length < 2) return [...regions]
  const parents = new Set(regions.filter(({ kind }) => kind === 'children').map(({ uid }) => uid))
  const kept: Region[] = []
  let wide: Region | undefined
  for (const region of regions.flatMap((one) => beside(parents, one)).sort(byUidThenWidth)) {
    const last = kept.at(-1)
    if (last && covers(last, region)) continue
    if (wide && covers(wide, region)) continue
    if (region.kind === 'tree' || region.kind === 'below') wide = region
    kept.push(region)
  }
  return kept
}

/** What is left of a region beside the children of these parents. */
function beside(parents: ReadonlySet<string>, region: Region): Region[] {
  const isChild = region.uid !== '' && parents.has(parentOf(region.uid))
  if (!isChild || region.kind === 'below' || region.kind === 'children') return [region]
  return region.kind === 'tree' ? [{ kind: 'below', uid: region.uid }] : []
}

const width = { tree: 0, below: 1, children: 2, point: 3 }

function byUidThenWidth(a: Region, b: Region): number {
  if (a.uid !== b.uid) return a.uid < b.uid ? -1 : 1
  return width[a.kind] - width[b.kind]
}

function covers(wider: Region, region: Region): boolean {
  const shared = intersect(wider, region)
  return shared?.kind === region.kind && shared.uid === region.uid
}
