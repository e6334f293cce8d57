// Compares lists with a naive implementation: random trees, regions and orders, every page.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { lineage } from '../../aip/uid.ts'
import { operatorAccess } from '../../policy/system-access.ts'
import type { Store } from '../db.ts'
import type { Sql, Value } from '../sql.ts'
import { raw, sql } from '../sql.ts'
import { contentOf } from '../statement/statement.ts'
import type { Entry, Table } from '../table.ts'
import { insertUncounted, storedForm } from '../table.ts'
import { adjustTally } from '../tally.ts'
import type { TestStore } from '../test-stores.ts'
import { onEachMigrated, openMigrated } from '../test-stores.ts'
import type { Work } from '../work.ts'
import { all } from '../work.ts'
import { maxPageBytes } from './large-rows.ts'
import type { Listing, Page, Region, Term, UncountedPage } from './listing.ts'
import { readPage, readUncountedPage } from './read-page.ts'

const groups: Table = {
  ...{ name: 'groups', columns: [], hasChildren: true, hasGroupUids: true, isIndexedByParent: true },
  rendered: storedForm,
}

type Node = { uid: string; name: string; create_time: number; update_time: number }
type Column = keyof Node

const maxDepth = 6
/** Few, so that many rows have equal names. Orders by bytes, by UTF-16 units and by locale differ for these names. */
const names = ['a', 'B', 'a b', 'a-b', 'aa', 'é', 'z', 'ß', '\u{ffff}', '\u{10000}', '']
const nodeSeed = fc.record({
  parent: fc.nat(),
  segment: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  name: fc.constantFrom(...names),
  create_time: fc.integer({ min: -2, max: 2 }), // imported advisories can be older than 1970
  update_time: fc.integer({ min: 1, max: 1000 }),
})

const tree = fc
  .tuple(
    fc.bigInt({ min: 0n, max: 2n ** 160n - 1n }),
    fc.array(nodeSeed, { minLength: 10, maxLength: 120, size: 'max' }),
  )
  .map(([root, seeds]) => {
    const top = root.toString(16).padStart(40, '0')
    const nodes: Node[] = [{ uid: top, name: 'a', create_time: 3, update_time: 3 }]
    for (const { parent, segment, ...fields } of seeds) {
      const parents = nodes.filter(({ uid }) => uid.split('/').length < maxDepth)
      const { uid } = parents[parent % parents.length] as Node // the root is always a possible parent
      const child = `${uid}/${segment.toString(16).padStart(16, '0')}`
      if (!nodes.some((node) => node.uid === child)) nodes.push({ uid: child, ...fields })
    }
    return nodes
  })

const term = fc.record({
  column: fc.constantFrom<Column>('name', 'create_time', 'update_time'),
  descending: fc.boolean(),
})
const order = fc
  .tuple(fc.uniqueArray(term, { maxLength: 3, selector: ({ column }) => column }), fc.boolean())
  .map(([terms, descending]): Term[] => [...terms, { column: 'uid', descending }])

const regionSeed = fc.record({
  kind: fc.constantFrom<Region['kind']>('tree', 'below', 'children', 'point'),
  /** The first nodes have the most descendants. */
  at: fc.oneof(fc.nat({ max: 8 }), fc.nat()),
  exists: fc.integer({ max: 9, min: 0 }).map((number) => number > 0),
})

type RegionSeed = typeof regionSeed extends fc.Arbitrary<infer T> ? T : never

const randomQuery = fc.record({
  regions: fc.oneof(
    { weight: 3, arbitrary: fc.array(regionSeed, { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: fc.array(regionSeed, { minLength: 100, maxLength: 200, size: 'max' }) },
  ),
  name: fc.option(fc.constantFrom(...names), { nil: undefined, freq: 3 }),
  order,
  /** Of these page sizes, only 10 allows a joined plan. */
  size: fc.oneof(fc.integer({ min: 1, max: 7 }), fc.constant(10)),
  skip: fc.oneof(fc.constant(0), fc.nat({ max: 12 })),
  /** The number of rows to skip before each page but the first. */
  skipLater: fc.nat({ max: 3 }),
})

onEachMigrated(['SQLite', 'PostgreSQL', 'PostgreSQL in English order'], 'a list', (testStore) => {
  let store: Store
  const sqlTexts = new Set<string>()
  before(async () => {
    store = await openMigrated(testStore())
  })

  test('returns the same pages as the naive implementation', async () => {
    await fc.assert(
      fc.asyncProperty(
        tree,
        fc.array(randomQuery, { minLength: 12, maxLength: 12 }),
        async (nodes, queries) => {
          await insertTree(store, nodes)
          for (const query of queries) {
            await compare(store, nodes, { ...query, regions: disjoint(nodes, query.regions) }, sqlTexts)
          }
        },
      ),
      { numRuns: runsOn(testStore()) },
    )
  })

  test('returns the same pages as the naive implementation with every kind of plan', async () => {
    const nodes = twoGroups()
    await insertTree(store, nodes)
    const [{ uid: root }, large, small] = nodes as [Node, Node, Node]
    const leaves = nodes.slice(3).map(({ uid }): Region => ({ kind: 'tree', uid }))
    const bothGroups: Region[] = [large, small].map(({ uid }) => ({ kind: 'below', uid }))
    for (const order of twoColumnOrders) {
      for (const regions of [...bothGroups.map((region) => [region]), bothGroups]) {
        await compare(store, nodes, { regions, order, size: 7 }, sqlTexts)
      }
    }
    const [byName = []] = twoColumnOrders
    await compare(store, nodes, { regions: leaves, order: byName, size: 7 }, sqlTexts)
    await compare(store, nodes, { regions: [{ kind: 'tree', uid: root }], order: byName, size: 10 }, sqlTexts)
    const groups = manyGroups()
    await insertTree(store, groups)
    const regionsOf = (kind: Region['kind']) => groups.slice(1, 46).map(({ uid }): Region => ({ kind, uid }))
    for (const kind of ['children', 'tree', 'below'] as const) {
      for (const order of [byName, [{ column: 'uid', descending: true }]]) {
        await compare(store, groups, { regions: regionsOf(kind), order, size: 60, skipLater: 3 }, sqlTexts)
        await compare(store, groups, { regions: regionsOf(kind), order, size: 60, name: 'a' }, sqlTexts)
      }
    }
    for (const [kind, pattern] of Object.entries(statementKinds)) {
      assert.ok(
        [...sqlTexts].some((text) => pattern.test(text)),
        `no statement was ${kind}`,
      )
    }
  })
})

// Not in English order: these lists are by uid, and the tests above find an order by uid that depends on the locale.
onEachMigrated(['SQLite', 'PostgreSQL'], 'a list of many regions or large rows', (testStore) => {
  let store: Store
  before(async () => {
    store = await openMigrated(testStore())
  })

  test('returns the page and total of more regions than one statement can contain', async () => {
    const root = '7'.repeat(40)
    const uids = Array.from({ length: 1500 }, (_, at) => `${root}/${at.toString(16).padStart(16, '0')}`)
    const nodes = [root, ...uids].map((uid) => ({ uid, name: 'a', create_time: 1, update_time: 1 }))
    await insertTree(store, nodes)
    const order = [{ column: 'uid', descending: true }]
    const options = { filters: [], order, after: undefined, skip: 10, size: 5, form }
    for (const kind of ['tree', 'point'] as const) {
      const page = await read(store, { ...options, regions: uids.map((uid) => ({ kind, uid })) }, new Set())
      assert.equal(page.total, 1500)
      assert.deepEqual(uidsOf(page), uids.toReversed().slice(10, 15))
    }
  })

  test('ends a page of large and stale rows before it exceeds the maximum number of bytes', async () => {
    const root = '9'.repeat(40)
    const uids = Array.from({ length: 40 }, (_, at) => `${root}/${at.toString(16).padStart(16, '0')}`)
    // `insertTree` makes rows with the update time 37 stale.
    await insertTree(store, [
      { uid: root, name: 'a', create_time: 1, update_time: 1 },
      ...uids.map((uid, at) => ({ uid, name: 'a', create_time: 1, update_time: at % 5 === 0 ? 37 : 1 })),
    ])
    // Every third row is large, including some of the stale rows.
    const large = uids.filter((_, at) => at % 3 === 0)
    const fill = raw(store.engine === 'sqlite' ? "printf('%.*c', 900000, 'x')" : "repeat('x', 900000)")
    for (const uid of large)
      await store.write(() => all(sql`update groups set json = uid || ${fill} where uid = ${uid}`))
    const regions: Region[] = [{ kind: 'below', uid: root }]
    for (const descending of [false, true])
      for (const size of [10, 200]) {
        const order = [{ column: 'uid', descending }]
        const pages: string[][] = []
        let after: Value[] | undefined
        do {
          const listing = { regions, filters: [], order, after, skip: 0, size, form }
          const page = await store.read(() => readPage(groups, listing))
          const uncounted = await store.read(() => readUncountedPage(groups, listing))
          assert.deepEqual(uncounted, { rows: page.rows, next: page.next })
          assert.equal(page.total, uids.length)
          const rows = page.rows as (string | Uint8Array)[] // pages with large rows are not joined
          assert.ok(
            Buffer.byteLength(rows.map((row) => Buffer.from(row).toString()).join('')) <= maxPageBytes,
          )
          pages.push(rows.map((row) => Buffer.from(row).toString().slice(0, 57)))
          after = page.next
        } while (after)
        assert.deepEqual(pages.flat(), descending ? uids.toReversed() : uids)
        assert.ok(pages.every((page) => page.length > 0))
        assert.ok(pages.length <= 6, `${pages.length} pages`)
      }
  })
})

/** The kinds of statements that the tests above must have run. */
const statementKinds = {
  joined: /^select string_agg\(.* union all select null/,
  'an index scan that skips rows':
    /^select case.* where root = \? and uid >= \? and uid < \? order by (name|\w+_time)/,
  'an index scan from a cursor': /where root = \? and uid >= \? and uid < \? and \((name|\w+_time), /,
  sorted: /from \(select (name|\w+_time), uid from groups where uid >= \? and uid < \? order by/,
  'sorted from a cursor': /where uid >= \? and uid < \? and \((name|\w+_time), .* join groups/,
  'in mixed directions': / or /,
  merged: / from \(.* union all .*\) k join groups on /,
  'merged in batches': /^\/\*pg \( \*\/ select (name|\w+_time)/,
  'a scan of several small subtrees': /\(\s+select t\.uid from \(values /,
  'a count of small subtrees': /^select \(select count\(\*\) .*\(values /s,
}

/** An organization with more groups than one statement scans. Each has a few groups below it. */
function manyGroups(): Node[] {
  const root = '6'.repeat(40)
  const segment = (at: number) => at.toString(16).padStart(16, '0')
  const tops = Array.from({ length: 45 }, (_, at) => `${root}/${segment(at)}`)
  const below = tops.flatMap((top, at) =>
    Array.from({ length: 1 + (at % 3) }, (_, index) => `${top}/${segment(index)}`),
  )
  const deeper = below.filter((_, at) => at % 3 === 0).map((uid) => `${uid}/${segment(0)}`)
  return [root, ...tops, ...below, ...deeper].map((uid, at) => ({
    uid,
    name: names[at % names.length] ?? '',
    create_time: at % 4,
    update_time: at * 7919,
  }))
}

/** An organization with a large group and a small one. */
function twoGroups(): Node[] {
  const root = '8'.repeat(40)
  const nodeOf = (uid: string, at: number): Node => ({
    uid,
    name: names[at % names.length] ?? '',
    create_time: at % 4,
    update_time: at * 7919,
  })
  const segment = (at: number) => at.toString(16).padStart(16, '0')
  const [large, small] = [`${root}/${segment(1)}`, `${root}/${segment(2)}`]
  const below = Array.from({ length: 64 }, (_, at) => `${at % 16 === 0 ? small : large}/${segment(at)}`)
  return [root, large, small, ...below].map(nodeOf)
}

const twoColumnOrders = (['name', 'create_time', 'update_time'] as const).flatMap((column) =>
  [false, true].flatMap((descending): Term[][] => [
    [
      { column, descending },
      { column: 'uid', descending },
    ],
    [
      { column, descending },
      { column: 'uid', descending: !descending },
    ],
  ]),
)

const runsOn = ({ address }: TestStore) => (address.startsWith('postgres') ? 8 : 20)

type Query = Pick<Listing, 'regions' | 'order' | 'size'> & {
  name?: string | undefined
  skip?: number
  skipLater?: number
}

async function compare(store: Store, nodes: Node[], query: Query, sqlTexts: Set<string>): Promise<void> {
  const { regions, order, name, size, skipLater = 0 } = query
  const matching = nodes
    .filter((node) => regions.some((region) => contains(region, node.uid)))
    .filter((node) => name === undefined || node.name === name)
    .sort((a, b) => compareNodes(order, a, b))
  const filters = name === undefined ? [] : [sql`name = ${name}`]
  let { skip = 0 } = query
  let after: Value[] | undefined
  let seen = 0
  do {
    const page = await read(store, { regions, filters, order, after, skip, size, form }, sqlTexts)
    seen += skip
    const expected = matching.slice(seen, seen + size)
    assert.deepEqual(
      uidsOf(page),
      expected.map(({ uid }) => uid),
    )
    assert.equal(page.total, matching.length)
    seen += expected.length
    assert.equal(page.next !== undefined, seen < matching.length && expected.length > 0)
    after = page.next
    skip = skipLater
  } while (after)
}

/** Drops regions that overlap an earlier one. Of many regions the deepest come first, so that many are kept. */
function disjoint(nodes: Node[], seeds: readonly RegionSeed[]): Region[] {
  const candidates = seeds.map(({ kind, at, exists }): Region => {
    const { uid } = nodes[at % nodes.length] as Node // never empty
    return { kind, uid: exists ? uid : `${uid}/${'f'.repeat(16)}` }
  })
  if (seeds.length > 3) candidates.sort((a, b) => b.uid.length - a.uid.length)
  const kept: Region[] = []
  for (const region of candidates) {
    const isFree = nodes.every(
      (node) => !contains(region, node.uid) || !kept.some((other) => contains(other, node.uid)),
    )
    const isNew = !kept.some((other) => other.kind === region.kind && other.uid === region.uid)
    if (isFree && isNew) kept.push(region)
  }
  return kept.sort((a, b) => (a.uid < b.uid ? -1 : 1))
}

function contains({ kind, uid: top }: Region, uid: string): boolean {
  const isBelow = uid.startsWith(`${top}/`)
  if (kind === 'point') return uid === top
  if (kind === 'children') return isBelow && !uid.slice(top.length + 1).includes('/')
  return isBelow || (kind === 'tree' && uid === top)
}

function compareNodes(order: readonly Term[], a: Node, b: Node): number {
  for (const { column, descending } of order) {
    const [x, y] = [a[column as Column], b[column as Column]]
    const difference =
      typeof x === 'number' ? x - (y as number) : Buffer.compare(Buffer.from(x), Buffer.from(y as string))
    if (difference !== 0) return descending ? -difference : difference
  }
  return 0
}

/** Characters of two, three and four bytes. */
const multibyte = 'é€😀'

/** The JSON of a row is its uid and `multibyte`, with an empty shape; a few rows have a stale shape. */
const form = { kind: 'json', shape: '' } as const

function uidsOf({ rows }: UncountedPage): string[] {
  const text = Array.isArray(rows) ? rows.map((row) => Buffer.from(row).toString()).join() : rows.text
  if (!Array.isArray(rows)) assert.equal(rows.size, Buffer.byteLength(text))
  return text === '' ? [] : text.replaceAll(multibyte, '').split(',')
}

/** Reads the page also without its total, and without the indexes by parent: the rows must be the same. */
async function read(store: Store, listing: Listing, sqlTexts: Set<string>): Promise<Page> {
  const page = await store.read(() => recordTexts(readPage(groups, listing), sqlTexts))
  const uncounted = await store.read(() => readUncountedPage(groups, listing))
  assert.deepEqual([uidsOf(uncounted), uncounted.next], [uidsOf(page), page.next])
  const table = { ...groups, isIndexedByParent: false }
  const other = await store.read(() => readPage(table, listing))
  assert.deepEqual([uidsOf(other), other.next, other.total], [uidsOf(page), page.next, page.total])
  return page
}

function* recordTexts<T>(work: Work<T>, sqlTexts: Set<string>): Work<T> {
  let step = work.next()
  while (!step.done) {
    const statement: Sql = step.value
    sqlTexts.add(contentOf(statement).template.join('?').replaceAll(/\s+/g, ' '))
    step = work.next(yield statement)
  }
  return step.value
}

/** Replaces a tree with the same root: fast-check repeats a failing tree with fewer nodes. */
function insertTree(store: Store, nodes: readonly Node[]): Promise<void> {
  const root = (nodes[0] as Node).uid
  return store.write(function* () {
    const old = yield sql`select uid from groups where root = ${root} order by uid desc`
    for (const [uid] of old) yield sql`delete from groups where uid = ${uid ?? null}`
    yield sql`delete from tally where place >= ${root} and place < ${`${root}0`}`
    const entries = nodes.map(entryOf)
    yield* insertUncounted(operatorAccess, groups, entries)
    for (const [parent, children] of Map.groupBy(entries, ({ parent }) => parent ?? ''))
      yield* adjustTally(groups.name, lineage(parent), children.length)
  })
}

function entryOf({ uid, name, create_time, update_time }: Node): Entry {
  const path = uid.split('/')
  const parent = path.slice(0, -1).join('/') || null
  const shape = update_time % 37 === 0 ? 'old' : ''
  const stored = { proto: Buffer.from(uid), json: shape || uid + multibyte, shape }
  const times = { createTime: create_time, updateTime: update_time }
  return { ...{ uid, root: path[0] ?? '', name, parent, columns: {} }, ...stored, ...times }
}
