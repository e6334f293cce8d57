// Regions are parts of the tree. The resources that a caller may see are a set of regions, and so are the resources
// that a list asks for. The list reads the intersection, which is computed from the uids alone, because uids are paths.
import { isAtOrBelow, isBelow, lineage, parentOf } from './uid.ts'

export type Region =
  /** A resource and everything below it. */
  | { kind: 'tree'; uid: string }
  /** Everything below a resource. */
  | { kind: 'below'; uid: string }
  /** The children of a resource; the empty uid is the parent of all roots. */
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
  if (a.kind === 'children') return intersectChildren(a, b)
  if (b.kind === 'children') return intersectChildren(b, a)
  if (a.uid === b.uid) return a.kind === 'below' ? a : b
  if (isBelow(a.uid, b.uid)) return a
  if (isBelow(b.uid, a.uid)) return b
  return undefined
}

/** `subtree` is a `tree` or a `below`. */
function intersectChildren(children: Region, subtree: Region): Region | undefined {
  if (isAtOrBelow(children.uid, subtree.uid)) return children
  const isChild = subtree.kind === 'tree' && parentOf(subtree.uid) === children.uid
  return isChild ? { kind: 'point', uid: subtree.uid } : undefined
}

/**
 * The intersection of two sets of regions, sorted by uid. The regions of `sorted` must be sorted by uid and must not
 * overlap.
 *
 * Two regions intersect only if their uids are equal or one is above the other. So a binary search in `sorted` finds
 * all regions that intersect a given one. The time grows with the sizes of the sets and of the result, not with the
 * product of the sizes.
 */
export function intersectAll(sorted: readonly Region[], others: readonly Region[]): Region[] {
  const shared: Region[] = []
  for (const other of others) {
    for (const uid of new Set(['', ...lineage(other.uid)])) {
      addIntersections(shared, sorted, uid, (region) => region.uid === uid, other)
    }
    // A region whose uid is below that of a point does not contain the point.
    if (other.kind === 'point') continue
    const firstBelow = other.uid === '' ? beforeAllUids : `${other.uid}/`
    addIntersections(shared, sorted, firstBelow, (region) => isBelow(region.uid, other.uid), other)
  }
  return disjoint(shared)
}

/** Sorts before every uid, and after the empty uid. */
const beforeAllUids = '0'

/**
 * Adds to `shared` the intersections of `other` with the regions of `sorted` from `firstUid` on, up to the first region
 * that is not a candidate.
 */
function addIntersections(
  shared: Region[],
  sorted: readonly Region[],
  firstUid: string,
  isCandidate: (region: Region) => boolean,
  other: Region,
): void {
  for (let at = firstAtOrAfter(sorted, firstUid); at < sorted.length; at++) {
    const region = sorted[at] as Region // at is below the length
    if (!isCandidate(region)) break
    const intersection = intersect(region, other)
    if (intersection) shared.push(intersection)
  }
}

/** The index of the first region whose uid is this one or sorts after it. */
function firstAtOrAfter(sorted: readonly Region[], uid: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    const region = sorted[middle] as Region // middle is below the length
    if (region.uid < uid) low = middle + 1
    else high = middle
  }
  return low
}

/** Regions that together contain the same uids as the given ones but do not overlap, sorted by uid. */
export function disjoint(regions: readonly Region[]): Region[] {
  if (regions.length < 2) return [...regions]
  const parents = new Set(regions.filter(({ kind }) => kind === 'children').map(({ uid }) => uid))
  const sorted = regions.flatMap((region) => withoutChildrenOf(parents, region)).sort(byUidThenSize)
  const kept: Region[] = []
  let subtree: Region | undefined
  for (const region of sorted) {
    const last = kept.at(-1)
    if (last && includes(last, region)) continue
    if (subtree && includes(subtree, region)) continue
    if (region.kind === 'tree' || region.kind === 'below') subtree = region
    kept.push(region)
  }
  return kept
}

/** The region, without its own uid if that uid is a child of one of these parents. Empty if nothing remains. */
function withoutChildrenOf(parents: ReadonlySet<string>, region: Region): Region[] {
  const isChild = region.uid !== '' && parents.has(parentOf(region.uid))
  if (!isChild || region.kind === 'below' || region.kind === 'children') return [region]
  return region.kind === 'tree' ? [{ kind: 'below', uid: region.uid }] : []
}

/** Larger regions first. */
const sizeRank = { tree: 0, below: 1, children: 2, point: 3 }

function byUidThenSize(a: Region, b: Region): number {
  if (a.uid !== b.uid) return a.uid < b.uid ? -1 : 1
  return sizeRank[a.kind] - sizeRank[b.kind]
}

function includes(larger: Region, region: Region): boolean {
  const shared = intersect(larger, region)
  return shared?.kind === region.kind && shared.uid === region.uid
}
