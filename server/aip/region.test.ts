import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { smallTree, uidInSmallTree } from '../testing/arbitraries.ts'
import type { Region } from './region.ts'
import { contains, disjoint, intersect, intersectAll } from './region.ts'
import { lineage, newChildUid, newRootUid, parentOf } from './uid.ts'

const uidsIn = (regions: readonly Region[]) =>
  smallTree.filter((uid) => regions.some((region) => contains(region, uid)))

/** How many of the regions contain a uid. */
const countContaining = (regions: readonly Region[], uid: string) =>
  regions.filter((region) => contains(region, uid)).length

function assertDisjointAndOrdered(regions: readonly Region[]): void {
  const uids = regions.map(({ uid }) => uid)
  assert.deepEqual(uids, [...uids].sort())
  for (const uid of smallTree)
    assert.ok(countContaining(regions, uid) <= 1, `${uid} in ${JSON.stringify(regions)}`)
}

const place = fc.oneof({ weight: 6, arbitrary: uidInSmallTree }, { weight: 1, arbitrary: fc.constant('') })
const wideRegion = fc.record({ kind: fc.constantFrom('tree', 'below', 'children'), uid: place })
const point = fc.record({ kind: fc.constant('point' as const), uid: uidInSmallTree })
const anyRegion: fc.Arbitrary<Region> = fc.oneof(wideRegion, point)
const anyRegions = fc.array(anyRegion, { maxLength: 8 })

/** The regions that a list starts with: the groups in which the caller has a role, with everything below them. */
const grants = fc
  .array(uidInSmallTree, { maxLength: 8 })
  .map((places) => disjoint(places.map((uid): Region => ({ kind: 'tree', uid }))))

const points = (uids: readonly string[]) => uids.map((uid): Region => ({ kind: 'point', uid }))

/** The regions of a filter; each filter has one kind. */
const filter: fc.Arbitrary<Region[]> = fc.oneof(
  place.map((uid): Region[] => [{ kind: 'below', uid }]),
  place.map((uid): Region[] => [{ kind: 'children', uid }]),
  uidInSmallTree.map((uid) => points(lineage(parentOf(uid)))),
  fc.array(uidInSmallTree, { maxLength: 12 }).map(points),
)

describe('a region', () => {
  const [root = '', child = '', grandchild = ''] = lineage(
    smallTree.find((uid) => lineage(uid).length === 3) ?? '',
  )

  test('is a resource with everything below it, only what is below it, only its children, or only itself', () => {
    const inside = (kind: Region['kind']) =>
      [root, child, grandchild].map((uid) => contains({ kind, uid: root }, uid))
    assert.deepEqual(inside('tree'), [true, true, true])
    assert.deepEqual(inside('below'), [false, true, true])
    assert.deepEqual(inside('children'), [false, true, false])
    assert.deepEqual(inside('point'), [true, false, false])
  })

  test('of the children of the empty uid contains the roots', () => {
    const roots = smallTree.filter((uid) => contains({ kind: 'children', uid: '' }, uid))
    assert.deepEqual(
      roots,
      smallTree.filter((uid) => !uid.includes('/')),
    )
  })

  test('intersected with another contains exactly the uids that are in both', () => {
    fc.assert(
      fc.property(anyRegion, anyRegion, (a, b) => {
        const intersection = intersect(a, b)
        const expected = smallTree.filter((uid) => contains(a, uid) && contains(b, uid))
        assert.deepEqual(uidsIn(intersection ? [intersection] : []), expected)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('a set of regions', () => {
  test('made disjoint contains the same uids, each in one region, sorted', () => {
    fc.assert(
      fc.property(anyRegions, (regions) => {
        const result = disjoint(regions)
        assert.deepEqual(uidsIn(result), uidsIn(regions))
        assertDisjointAndOrdered(result)
      }),
      { numRuns: 2000 },
    )
  })

  test('made disjoint keeps a children region, and reduces the tree of one of these children to what is below that child', () => {
    const [child = ''] = smallTree.filter((uid) => uid.includes('/'))
    const parent = parentOf(child)
    const result = disjoint([
      { kind: 'tree', uid: child },
      { kind: 'children', uid: parent },
      { kind: 'tree', uid: child },
      { kind: 'point', uid: child },
    ])
    assert.deepEqual(result, [
      { kind: 'children', uid: parent },
      { kind: 'below', uid: child },
    ])
  })

  test('is modified neither by disjoint nor by intersectAll', () => {
    fc.assert(
      fc.property(anyRegions, anyRegions, (left, right) => {
        const before = JSON.stringify([left, right])
        intersectAll(disjoint(left), right)
        assert.equal(JSON.stringify([left, right]), before)
      }),
    )
  })

  test('intersected with another contains exactly the uids that are in both', () => {
    fc.assert(
      fc.property(anyRegions, anyRegions, (left, right) => {
        const shared = intersectAll(disjoint(left), disjoint(right))
        const inBoth = uidsIn(left).filter((uid) => countContaining(right, uid) > 0)
        assert.deepEqual(uidsIn(shared), inBoth)
        assertDisjointAndOrdered(shared)
      }),
      { numRuns: 3000 },
    )
  })

  test('of grants, intersected with several filters, contains each matching uid once', () => {
    fc.assert(
      fc.property(grants, fc.array(filter, { maxLength: 3 }), (visible, filters) => {
        let regions = visible
        for (const filterRegions of filters) regions = intersectAll(regions, disjoint(filterRegions))
        const expected = smallTree.filter((uid) =>
          [visible, ...filters].every((set) => countContaining(set, uid) > 0),
        )
        assert.deepEqual(uidsIn(regions), expected)
        assertDisjointAndOrdered(regions)
      }),
      { numRuns: 2000 },
    )
  })
})

// These tests check only results. But if `intersectAll` compared every pair of regions, one
// intersection with a thousand ids would take 20 million comparisons, and the tests would be slow.
describe('thousands of grants', () => {
  let counter = 0
  const distinctBytes = (size: number) => {
    const bytes = Buffer.alloc(size)
    bytes.writeUInt32BE(counter++, size - 4)
    return bytes
  }
  const organization = newRootUid(distinctBytes)
  const places = Array.from({ length: 20_000 }, () => newChildUid(organization, 0, distinctBytes))
  const visible = disjoint(places.toReversed().map((uid): Region => ({ kind: 'tree', uid })))

  test('are all in the result of `disjoint`, sorted by uid', () => {
    assert.deepEqual(
      visible.map(({ uid }) => uid),
      places,
    )
  })

  test('can be intersected with a thousand ids', () => {
    const ids = places.filter((_, at) => at % 20 === 0).map((uid) => newChildUid(uid, 0, distinctBytes))
    for (let round = 0; round < 50; round++) {
      assert.equal(intersectAll(visible, disjoint(points(ids))).length, 1000)
    }
  })

  test('can be intersected with everything below their organization, its children, and another organization', () => {
    assert.equal(intersectAll(visible, [{ kind: 'below', uid: organization }]).length, 20_000)
    assert.deepEqual(intersectAll(visible, [{ kind: 'children', uid: organization }]), points(places))
    assert.deepEqual(intersectAll(visible, [{ kind: 'tree', uid: newRootUid(distinctBytes) }]), [])
  })

  test('can be intersected with the grants of another capability', () => {
    const half = visible.filter((_, at) => at % 2 === 0)
    assert.deepEqual(intersectAll(visible, half), half)
    assert.deepEqual(intersectAll(half, [{ kind: 'tree', uid: organization }]), half)
  })

  // Would be slow if all grants were scanned for each id.
  test('have an empty intersection with the ids above all of them', () => {
    const line = lineage(organization + '/0123456789abcdef'.repeat(60))
    const bottom = line.at(-1) ?? ''
    const deep = disjoint(
      places.map((): Region => ({ kind: 'tree', uid: newChildUid(bottom, 0, distinctBytes) })),
    )
    for (let round = 0; round < 50; round++) assert.deepEqual(intersectAll(deep, points(line)), [])
  })
})
