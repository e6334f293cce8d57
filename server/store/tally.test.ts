// Tallies after any history: what they say is what a recount finds, whatever failed and whoever wrote at once.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { operatorAccess } from '../policy/system-access.ts'
import { checkTally } from './check.ts'
import type { TestStore } from './conformance.ts'
import { isStoreError, onEach, openMigrated } from './conformance.ts'
import type { Store } from './db.ts'
import { sql } from './sql.ts'
import type { Table } from './table.ts'
import { deleteEntry, insertEntry, storedForm } from './table.ts'
import { contentsOf, readTally } from './tally.ts'
import type { Work } from './work.ts'

const groups: Table = {
  ...{ name: 'groups', columns: [], hasChildren: true, hasGroupUids: true, isIndexedByParent: true },
  rendered: storedForm,
}
const identities: Table = {
  name: 'identities',
  columns: [],
  hasChildren: false,
  isIndexedByParent: true,
  hasGroupUids: false,
  rendered: storedForm,
}
const kinds = [groups.name, identities.name]

const above = (uid: string) =>
  uid
    .split('/')
    .slice(0, -1)
    .map((_, at, path) => path.slice(0, at + 1).join('/'))

function* insert(table: Table, uid: string): Work<void> {
  const [root = ''] = uid.split('/')
  const entry = { uid, root, name: 'x', parent: above(uid).at(-1) ?? null, columns: {} }
  const stored = { proto: new Uint8Array(), json: '{}', shape: '', createTime: 1, updateTime: 1 }
  yield* insertEntry(operatorAccess, table, { ...entry, ...stored }, above(uid))
}

const remove = (table: Table, uid: string) => deleteEntry(operatorAccess, table, uid, above(uid))

let made = 0
const newRoot = () => (++made).toString(16).padStart(40, '0')
const newChild = (parent: string) => `${parent}/${(++made).toString(16).padStart(16, '0')}`

async function assertRight(store: Store): Promise<void> {
  assert.deepEqual(await checkTally(store, kinds, false), [])
}

onEach(['SQLite', 'PostgreSQL'], 'tallies', (place) => {
  let store: Store
  before(async () => {
    store = await openMigrated(place())
  })

  test('count what lies directly in a place and what lies below it', async () => {
    const root = newRoot()
    const [team, other] = [newChild(root), newChild(root)]
    const leaf = newChild(team)
    await store.write(function* () {
      for (const uid of [root, team, other, leaf]) yield* insert(groups, uid)
      yield* insert(identities, newChild(leaf))
      yield* insert(identities, newChild(leaf))
    })
    const [ofGroups, ofIdentities, inside] = await store.read(function* () {
      const places = [root, team, leaf, other]
      return [
        yield* readTally('groups', places),
        yield* readTally('identities', places),
        yield* contentsOf(leaf),
      ]
    })
    assert.deepEqual(Object.fromEntries(ofGroups), {
      [root]: { children: 2, subtree: 3 },
      [team]: { children: 1, subtree: 1 },
    })
    assert.deepEqual(ofIdentities.get(root), { children: 0, subtree: 2 })
    assert.deepEqual(ofIdentities.get(leaf), { children: 2, subtree: 2 })
    assert.deepEqual(inside, [{ kind: 'identities', count: 2 }])
  })

  test('go with the place that is deleted', async () => {
    const root = newRoot()
    const team = newChild(root)
    await store.write(function* () {
      for (const uid of [root, team]) yield* insert(groups, uid)
      assert.equal(yield* remove(groups, newChild(root)), false)
      assert.equal(yield* remove(groups, team), true)
      assert.equal(yield* remove(groups, root), true)
    })
    assert.deepEqual(await store.query(sql`select 1 from tally where place in (${root}, ${team})`), [])
  })

  test('are right after any history, failures included', async () => {
    const step = fc.record({
      does: fc.constantFrom('insert', 'delete', 'throw', 'orphan', 'again'),
      isGroup: fc.boolean(),
      at: fc.nat(),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 25, size: 'max' }),
        async (works) => {
          const history = startHistory()
          await store.write(() => insert(groups, history.root))
          for (const steps of works) await store.write(() => history.run(steps)).catch(history.forgive)
          await assertRight(store)
          assert.deepEqual(await countsOf(store, history.root), history.counts())
        },
      ),
      { numRuns: 10 },
    )
  })

  test('are right after many writers at once in one organization', async () => {
    await race(place(), store)
    await assertRight(store)
  })

  describe('against a recount', () => {
    test('those that are wrong are found, told and mended', async () => {
      const root = newRoot()
      const team = newChild(root)
      await store.write(function* () {
        for (const uid of [root, team, newChild(team)]) yield* insert(groups, uid)
        yield* insert(identities, newChild(team))
      })
      const gone = newChild(newRoot())
      await store.write(function* () {
        yield sql`delete from tally where kind = 'identities' and place = ${team}`
        yield sql`insert into tally (kind, place, stripe, children, subtree)
          values ('groups', ${root}, 99, 0, 3), ('groups', ${gone}, 99, 1, 1)`
      })
      const said = {
        [root]: { children: 1, subtree: 5 },
        [team]: nothing,
        [gone]: { children: 1, subtree: 1 },
      }
      const counted = {
        [root]: { children: 1, subtree: 2 },
        [team]: { children: 1, subtree: 1 },
        [gone]: nothing,
      }
      for (const isRepair of [false, true]) {
        const found = await checkTally(store, kinds, isRepair)
        assert.deepEqual(Object.fromEntries(found.map((one) => [one.place, one.said])), said)
        assert.deepEqual(Object.fromEntries(found.map((one) => [one.place, one.counted])), counted)
      }
      await assertRight(store)
    })

    test('nothing is found wrong while others write', async () => {
      let isOver = false
      const racing = race(place(), store).finally(() => {
        isOver = true
      })
      const checker = place().open()
      while (!isOver) {
        await assertRight(checker)
        await turn()
      }
      await racing
    })

    test('damage is mended while others write', async () => {
      let isOver = false
      const racing = race(place(), store).finally(() => {
        isOver = true
      })
      const checker = place().open()
      let mended = 0
      while (!isOver) {
        const damage = ++made
        // The newest organization is the one that others write to.
        await checker.write(function* () {
          yield sql`insert into tally (kind, place, stripe, children, subtree)
            select 'groups', max(place), ${damage}, 1, -2 from tally where place not like '%/%'`
        })
        mended += (await checkTally(checker, kinds, true)).length
        await assertRight(checker)
        await turn()
      }
      await racing
      assert.ok(mended > 0)
      await assertRight(store)
    })
  })
})

const nothing = { children: 0, subtree: 0 }

type Step = { does: string; isGroup: boolean; at: number }

/** What an organization should hold, kept in the plainest way. */
function startHistory() {
  const root = newRoot()
  let rows: { table: Table; uid: string }[] = [{ table: groups, uid: root }]

  function* run(steps: readonly Step[]): Work<void> {
    const next = [...rows]
    for (const { does, isGroup, at } of steps) {
      const table = isGroup ? groups : identities
      const places = next.filter((row) => row.table === groups)
      const place = (places[at % places.length] ?? { uid: root }).uid
      const some = next[at % next.length]
      if (does === 'throw') throw new Error('of the work')
      if (does === 'orphan') yield* insert(table, newChild(newChild(place)))
      if (does === 'again' && some) yield* insert(some.table, some.uid)
      if (does === 'delete' && some && some.uid !== root) {
        yield* remove(some.table, some.uid)
        next.splice(next.indexOf(some), 1)
      }
      if (does === 'insert') {
        const uid = newChild(place)
        yield* insert(table, uid)
        next.push({ table, uid })
      }
    }
    rows = next
  }

  return {
    root,
    run,
    forgive(error: unknown) {
      const isForeseen = isStoreError('foreign-key')(error) || isStoreError('unique')(error)
      if (!isForeseen && (error as Error).message !== 'of the work') throw error
    },
    counts: () =>
      kinds.map((kind) => rows.filter(({ table, uid }) => table.name === kind && uid !== root).length),
  }
}

async function countsOf(store: Store, root: string): Promise<number[]> {
  return store.read(function* () {
    const counts: number[] = []
    for (const kind of kinds) counts.push((yield* readTally(kind, [root])).get(root)?.subtree ?? 0)
    return counts
  })
}

/** Writers on several openings that make and delete in one organization, some of them failing halfway. */
async function race(place: TestStore, store: Store): Promise<void> {
  const root = newRoot()
  const teams = Array.from({ length: 3 }, () => newChild(root))
  await store.write(function* () {
    for (const uid of [root, ...teams]) yield* insert(groups, uid)
  })
  const stores = [store, place.open(), place.open()]
  await Promise.all(
    Array.from({ length: 24 }, async (_, writer) => {
      const mine = stores[writer % stores.length] as Store
      for (let round = 0; round < 6; round++) {
        const uid = newChild(teams[(writer + round) % teams.length] ?? root)
        const isKept = round % 3 !== 2
        const writing = mine.write(function* () {
          yield* insert(groups, uid)
          yield* insert(identities, newChild(uid))
          if (!isKept) throw new Error('of the work')
        })
        await (isKept ? writing : assert.rejects(writing, /of the work/))
        const leaf = newChild(uid)
        if (isKept) await mine.write(() => insert(groups, leaf))
        if (isKept && round % 2 === 0) await mine.write(() => remove(groups, leaf))
      }
    }),
  )
}
