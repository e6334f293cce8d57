// Lists against a naive answer: random trees, random regions and orders, every page of them.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import type { Place } from './conformance.ts'
import { onEach, openMigrated } from './conformance.ts'
import type { Store } from './db.ts'
import { readPage, readRun } from './list.ts'
import type { Listing, Page, Run } from './page.ts'
import type { Region, Term } from './region-sql.ts'
import type { Sql, Value } from './sql.ts'
import { sql } from './sql.ts'
import { contentOf } from './statement/statement.ts'
import type { Table } from './table.ts'
import { insertEntry, storedForm } from './table.ts'
import type { Work } from './work.ts'

const groups: Table = {
  ...{ name: 'groups', columns: [], isPlace: true, isAtPlaces: true, isOrderedInPlace: true },
  rendered: storedForm,
}

type Node = { uid: string; name: string; create_time: number; update_time: number }
type Column = keyof Node

const deepest = 6
/** Few, so that many are equal, and such that bytes, UTF-16 and people sort them differently. */
const names = ['a', 'B', 'a b', 'a-b', 'aa', 'é', 'z', 'ß', '\u{ffff}', '\u{10000}', '']
const seedOfNode = fc.record({
  parent: fc.nat(),
  segment: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  name: fc.constantFrom(...names),
  create_time: fc.integer({ min: 1, max: 5 }),
  update_time: fc.integer({ min: 1, max: 1000 }),
})

const tree = fc
  .tuple(
    fc.bigInt({ min: 0n, max: 2n ** 160n - 1n }),
    fc.array(seedOfNode, { minLength: 10, maxLength: 120, size: 'max' }),
  )
  .map(([root, seeds]) => {
    const top = root.toString(16).padStart(40, '0')
    const nodes: Node[] = [{ uid: top, name: 'a', create_time: 3, update_time: 3 }]
    for (const { parent, segment, ...rest } of seeds) {
      const places = nodes.filter(({ uid }) => uid.split('/').length < deepest)
      const { uid } = places[parent % places.length] as Node // the root is always one
      const own = `${uid}/${segment.toString(16).padStart(16, '0')}`
      if (!nodes.some((node) => node.uid === own)) nodes.push({ uid: own, ...rest })
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

const seedOfRegion = fc.record({
  kind: fc.constantFrom<Region['kind']>('tree', 'below', 'children', 'point'),
  /** The first nodes have the most below them. */
  at: fc.oneof(fc.nat({ max: 8 }), fc.nat()),
  isThere: fc.integer({ max: 9, min: 0 }).map((number) => number > 0),
})

type RegionSeed = typeof seedOfRegion extends fc.Arbitrary<infer T> ? T : never

const asked = fc.record({
  regions: fc.oneof(
    { weight: 3, arbitrary: fc.array(seedOfRegion, { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: fc.array(seedOfRegion, { minLength: 100, maxLength: 200, size: 'max' }) },
  ),
  name: fc.option(fc.constantFrom(...names), { nil: undefined, freq: 3 }),
  order,
  /** Of ten the engine joins the rows. */
  size: fc.oneof(fc.integer({ min: 1, max: 7 }), fc.constant(10)),
  skip: fc.oneof(fc.constant(0), fc.nat({ max: 12 })),
  skipLater: fc.nat({ max: 3 }),
})

onEach(['SQLite', 'PostgreSQL', 'PostgreSQL in English order'], 'lists', (place) => {
  let store: Store
  const texts = new Set<string>()
  before(async () => {
    store = await openMigrated(place())
  })

  test('every page of every list is that of the naive answer', async () => {
    await fc.assert(
      fc.asyncProperty(tree, fc.array(asked, { minLength: 12, maxLength: 12 }), async (nodes, questions) => {
        await plant(store, nodes)
        for (const question of questions) {
          await compare(store, nodes, { ...question, regions: disjoint(nodes, question.regions) }, texts)
        }
      }),
      { numRuns: runsOn(place()) },
    )
  })

  test('below a group both ways lead to the same pages: along the order, and by sorting', async () => {
    const nodes = twoGroups()
    await plant(store, nodes)
    const [{ uid: root }, large, small] = nodes as [Node, Node, Node]
    const leaves = nodes.slice(3).map(({ uid }): Region => ({ kind: 'tree', uid }))
    const together: Region[] = [large, small].map(({ uid }) => ({ kind: 'below', uid }))
    for (const order of ordersOfTwo) {
      for (const regions of [...together.map((region) => [region]), together]) {
        await compare(store, nodes, { regions, order, size: 7 }, texts)
      }
    }
    const [byName = []] = ordersOfTwo
    await compare(store, nodes, { regions: leaves, order: byName, size: 7 }, texts)
    await compare(store, nodes, { regions: [{ kind: 'tree', uid: root }], order: byName, size: 10 }, texts)
    for (const [way, pattern] of Object.entries(ways)) {
      assert.ok(
        [...texts].some((text) => pattern.test(text)),
        `no list was ${way}`,
      )
    }
  })

  test('a list of more regions than a statement can name is still whole', async () => {
    const root = '7'.repeat(40)
    const uids = Array.from({ length: 1500 }, (_, at) => `${root}/${at.toString(16).padStart(16, '0')}`)
    const nodes = [root, ...uids].map((uid) => ({ uid, name: 'a', create_time: 1, update_time: 1 }))
    await plant(store, nodes)
    const order = [{ column: 'uid', descending: true }]
    const rest = { filters: [], order, after: undefined, skip: 10, size: 5, form }
    for (const kind of ['tree', 'point'] as const) {
      const page = await read(store, { ...rest, regions: uids.map((uid) => ({ kind, uid })) }, texts)
      assert.equal(page.total, 1500)
      assert.deepEqual(uidsOf(page), uids.toReversed().slice(10, 15))
    }
  })
})

/** The forms of SQL that must have been tried. */
const ways = {
  joined: /^select string_agg\(.* union all select null/,
  walked: /^select case.* where root = \? and uid >= \? and uid < \? order by (name|\w+_time)/,
  'walked from a cursor': /where root = \? and uid >= \? and uid < \? and \((name|\w+_time), /,
  sorted: /from \(select (name|\w+_time), uid from groups where uid >= \? and uid < \? order by/,
  'sorted from a cursor': /where uid >= \? and uid < \? and \((name|\w+_time), .* join groups/,
  'in mixed directions': / or /,
  merged: / from \(.* union all .*\) k join groups on /,
  'merged in parts': /^\/\*pg \( \*\/ select (name|\w+_time)/,
}

/** An organization with a group of many and a group of few. */
function twoGroups(): Node[] {
  const root = '8'.repeat(40)
  const made = (uid: string, at: number): Node => ({
    uid,
    name: names[at % names.length] ?? '',
    create_time: at % 4,
    update_time: at * 7919,
  })
  const segment = (at: number) => at.toString(16).padStart(16, '0')
  const [large, small] = [`${root}/${segment(1)}`, `${root}/${segment(2)}`]
  const below = Array.from({ length: 64 }, (_, at) => `${at % 16 === 0 ? small : large}/${segment(at)}`)
  return [root, large, small, ...below].map(made)
}

const ordersOfTwo = (['name', 'create_time', 'update_time'] as const).flatMap((column) =>
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

const runsOn = ({ address }: Place) => (address.startsWith('postgres') ? 12 : 30)

type Question = Pick<Listing, 'regions' | 'order' | 'size'> & {
  name?: string | undefined
  skip?: number
  skipLater?: number
}

async function compare(store: Store, nodes: Node[], question: Question, texts: Set<string>): Promise<void> {
  const { regions, order, name, size, skipLater = 0 } = question
  const matching = nodes
    .filter((node) => regions.some((region) => contains(region, node.uid)))
    .filter((node) => name === undefined || node.name === name)
    .sort((a, b) => compareNodes(order, a, b))
  const filters = name === undefined ? [] : [sql`name = ${name}`]
  let { skip = 0 } = question
  let after: Value[] | undefined
  let seen = 0
  do {
    const page = await read(store, { regions, filters, order, after, skip, size, form }, texts)
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

/** Naively: whichever region comes first keeps what both hold. Of many the small ones come first. */
function disjoint(nodes: Node[], seeds: readonly RegionSeed[]): Region[] {
  const candidates = seeds.map(({ kind, at, isThere }): Region => {
    const { uid } = nodes[at % nodes.length] as Node // never empty
    return { kind, uid: isThere ? uid : `${uid}/${'f'.repeat(16)}` }
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

function contains({ kind, uid: place }: Region, uid: string): boolean {
  const isBelow = uid.startsWith(`${place}/`)
  if (kind === 'point') return uid === place
  if (kind === 'children') return isBelow && !uid.slice(place.length + 1).includes('/')
  return isBelow || (kind === 'tree' && uid === place)
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
const wide = 'é€😀'

/** The rows of these tests keep their uid and these as JSON, under an empty shape; a few under another, as bytes. */
const form = { kind: 'json', shape: '' } as const

function uidsOf({ rows }: Run): string[] {
  const text = Array.isArray(rows) ? rows.map((row) => Buffer.from(row).toString()).join() : rows.text
  if (!Array.isArray(rows)) assert.equal(rows.size, Buffer.byteLength(text))
  return text === '' ? [] : text.replaceAll(wide, '').split(',')
}

/** With and without its total and the indexes of places, which must make no difference to its rows. */
async function read(store: Store, listing: Listing, texts: Set<string>): Promise<Page> {
  const page = await store.read(() => recorded(readPage(groups, listing), texts))
  const run = await store.read(() => readRun(groups, listing))
  assert.deepEqual([uidsOf(run), run.next], [uidsOf(page), page.next])
  const table = { ...groups, isOrderedInPlace: false }
  const other = await store.read(() => readPage(table, listing))
  assert.deepEqual([uidsOf(other), other.next, other.total], [uidsOf(page), page.next, page.total])
  return page
}

function* recorded<T>(work: Work<T>, texts: Set<string>): Work<T> {
  let step = work.next()
  while (!step.done) {
    const statement: Sql = step.value
    texts.add(contentOf(statement).template.join('?').replaceAll(/\s+/g, ' '))
    step = work.next(yield statement)
  }
  return step.value
}

/** A tree that is tried again, as fast-check does to find a smaller one, replaces the last. */
function plant(store: Store, nodes: readonly Node[]): Promise<void> {
  const root = (nodes[0] as Node).uid
  return store.write(function* () {
    const old = yield sql`select uid from groups where root = ${root} order by uid desc`
    for (const [uid] of old) yield sql`delete from groups where uid = ${uid ?? null}`
    yield sql`delete from tally where place >= ${root} and place < ${`${root}0`}`
    for (const { uid, name, create_time, update_time } of nodes) {
      const above = uid.split('/').map((_, at, path) => path.slice(0, at + 1).join('/'))
      above.pop()
      const entry = { uid, root, name, parent: above.at(-1) ?? null, columns: {} }
      const shape = update_time % 37 === 0 ? 'old' : ''
      const stored = { proto: Buffer.from(uid), json: shape || uid + wide, shape }
      const times = { createTime: create_time, updateTime: update_time }
      yield* insertEntry(groups, { ...entry, ...stored, ...times }, above)
    }
  })
}
