import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Row } from '../sql.ts'
import { sql } from '../sql.ts'
import type { Table } from '../table.ts'
import { storedForm } from '../table.ts'
import { isStoreError } from '../test-stores.ts'
import type { Listing, Region } from './listing.ts'
import type { Plan } from './plan.ts'
import { planList, planRows } from './plan.ts'

const groups: Table = {
  ...{ name: 'groups', columns: [], hasChildren: true, hasGroupUids: true, isIndexedByParent: true },
  rendered: storedForm,
}
const root = 'a'.repeat(40)
const team = `${root}/${'1'.repeat(16)}`
const other = `${root}/${'2'.repeat(16)}`
const byUid = [{ column: 'uid', descending: false }]
const byName = [{ column: 'name', descending: false }, ...byUid]

const listing = (regions: Region[], changes: Partial<Listing> = {}): Listing => ({
  ...{ regions, filters: [], order: byUid, after: undefined, skip: 0, size: 50 },
  form: { kind: 'json', shape: '' },
  ...changes,
})

const below = (uid: string): Region => ({ kind: 'below', uid })
const children = (uid: string): Region => ({ kind: 'children', uid })
const point = (uid: string): Region => ({ kind: 'point', uid })

/** The plan, with these rows as the tally. Undefined means that the tally must not be read. */
function planOf(wanted: Listing, tally?: Row[], plan: typeof planList = planList): Plan {
  const work = plan(groups, wanted)
  const step = work.next()
  if (step.done) return step.value
  assert.ok(tally, 'the tally was read')
  const last = work.next(tally)
  assert.ok(last.done, 'a second statement was run')
  return last.value
}

describe('the plan of a list', () => {
  test('joins the rows into one text if the list is JSON, of one region, and in the order of an index', () => {
    for (const order of [byUid, byName])
      for (const region of [below(root), children(team)])
        assert.equal(planOf(listing([region], { order })).kind, 'joined')
  })

  test('does not join rows if there are filters, skipped rows, unusual page sizes, orders of three columns, or binary rows', () => {
    const changes: Partial<Listing>[] = [
      { filters: [sql`name = ${'x'}`] },
      { skip: 1 },
      { size: 49 },
      { order: [{ column: 'create_time', descending: false }, ...byName] },
      { form: { kind: 'bytes' } },
    ]
    for (const change of changes) assert.notEqual(planOf(listing([below(root)], change), []).kind, 'joined')
    assert.notEqual(planOf(listing([below(root)]), [], planRows).kind, 'joined')
  })

  test('reads one index in order', () => {
    const plan = planOf(listing([children(team)], { form: { kind: 'bytes' } }), [[team, 3, 4]])
    assert.deepEqual(plan, {
      kind: 'indexed',
      scan: { region: children(team), access: 'own-index' },
      total: { kind: 'tallied', sum: 3, points: [] },
    })
  })

  test('looks up points by uid and counts them', () => {
    const uids = [team, other]
    const plan = planOf(listing(uids.map(point)), [])
    assert.equal(plan.kind, 'points')
    assert.deepEqual(plan.kind === 'points' && plan.total, { kind: 'tallied', sum: 0, points: uids })
  })

  test('sorts a small group and scans the index of the organization for a large one', () => {
    const accessOf = (inside: number) => {
      const tally = [
        [team, 0, inside],
        [root, 0, 100_000],
      ]
      const plan = planOf(listing([below(team)], { order: byName }), tally)
      return plan.kind === 'merged' ? plan.scans[0]?.access : plan.kind === 'indexed' && plan.scan.access
    }
    // A group is sorted if 8 × rows² <= 51 × 100,000, and 8 × 798² < 51 × 100,000 < 8 × 799².
    assert.equal(accessOf(798), 'sort')
    assert.equal(accessOf(799), 'organization-index')
  })

  test('merges several regions in one statement, and more than 40 in batches', () => {
    const regions = (count: number) =>
      Array.from({ length: count }, (_, at) => below(`${root}/${at.toString(16).padStart(16, '0')}`))
    const merged = planOf(listing(regions(40)), [])
    assert.equal(merged.kind === 'merged' && merged.scans.length, 40)
    const tally = (rows: number) => regions(41).map(({ uid }) => [uid, 0, rows])
    const sizesOf = (plan: Plan) => plan.kind === 'batched' && plan.batches.map(({ length }) => length)
    assert.deepEqual(sizesOf(planOf(listing(regions(41)), tally(1))), [40, 1])
    assert.deepEqual(sizesOf(planOf(listing(regions(41), { order: byName }), tally(51))), [40, 1])
  })

  test('leaves out empty regions and reads small ones together if there are many regions', () => {
    const many = Array.from({ length: 1000 }, (_, at) =>
      below(`${root}/${at.toString(16).padStart(16, '0')}`),
    )
    const filled = many.filter((_, at) => at % 10 === 0)
    const tally = filled.map(({ uid }) => [uid, 1, 50])
    // One statement reads the tally of up to 512 groups, so two statements are needed.
    const planMany = (changes: Partial<Listing>) => {
      const work = planList(groups, listing(many, changes))
      work.next()
      work.next(tally)
      const last = work.next([])
      return last.done ? last.value : undefined
    }
    for (const changes of [{ order: byName }, { filters: [sql`name = ${'x'}`] }]) {
      const plan = planMany(changes)
      const regions = plan?.kind === 'merged' && plan.scans.map(({ region }) => region)
      assert.deepEqual(regions, [{ kind: 'subtrees', table: 'groups', subtrees: filled }])
    }
    const inOrder = planMany({})
    assert.deepEqual(inOrder?.kind === 'batched' && inOrder.batches.map(({ length }) => length), [40, 40, 20])
  })

  test('leaves out regions before the cursor but counts them', () => {
    const plan = planOf(listing([below(team), below(other)], { after: [other] }), [
      [team, 1, 1],
      [other, 2, 2],
    ])
    assert.deepEqual(plan.kind === 'indexed' && plan.scan.region, below(other))
    assert.deepEqual(plan.kind === 'indexed' && plan.total, { kind: 'tallied', sum: 3, points: [] })
  })

  test('is empty without regions', () => {
    assert.equal(planOf(listing([]), []).kind, 'empty')
  })

  test('counts rows if there are filters, without reading the tally', () => {
    const plan = planOf(listing([below(team)], { filters: [sql`name = ${'x'}`], order: byName }))
    assert.deepEqual(plan.kind === 'indexed' && plan.scan.access, 'organization-index')
    assert.deepEqual(plan.kind === 'indexed' && plan.total, { kind: 'counted', regions: [below(team)] })
  })

  test('is refused before any row is read if it would read more rows than `maxRows`', () => {
    const teams = Array.from({ length: 150 }, (_, at) => below(`${root}/${String(at).padStart(16, '0')}`))
    const isRefused = (wanted: Listing, tally: Row[]) => {
      try {
        planOf({ ...wanted, maxRows: 5000 }, tally)
        return false
      } catch (error) {
        assert.ok(isStoreError('expensive')(error))
        return true
      }
    }
    const search = { filters: [sql`instr(name, ${'x'}) > 0`], scansInOrder: true }
    assert.ok(isRefused(listing([below(root)], search), [[root, 5001, 5001]]))
    assert.ok(!isRefused(listing([below(root)], search), [[root, 4000, 4000]]))
    assert.ok(isRefused(listing([below(root)], { skip: 5001 }), [[root, 6000, 6000]]))
    assert.ok(isRefused(listing(teams, { order: byName }), []))
    assert.ok(!isRefused(listing(teams), []))
    assert.ok(!isRefused(listing(teams.slice(0, 90), { order: byName }), []))
  })
})
