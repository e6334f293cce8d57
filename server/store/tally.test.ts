// The tally equals a recount after any sequence of writes, including failed and concurrent ones.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { operatorAccess } from '../policy/system-access.ts'
import { checkTally } from './check.ts'
import type { Store } from './db.ts'
import { sql } from './sql.ts'
import type { Table } from './table.ts'
import { deleteEntry, insertEntry, storedForm } from './table.ts'
import { contentsOf, readTally } from './tally.ts'
import type { TestStore } from './test-stores.ts'
import { isStoreError, onEachMigrated, openMigrated } from './test-stores.ts'
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

const ancestorsOf = (uid: string) =>
  uid
    .split('/')
    .slice(0, -1)
    .map((_, at, path) => path.slice(0, at + 1).join('/'))

function* insert(table: Table, uid: string): Work<void> {
  const [root = ''] = uid.split('/')
  const entry = { uid, root, name: 'x', parent: ancestorsOf(uid).at(-1) ?? null, columns: {} }
  const stored = { proto: new Uint8Array(), json: '{}', shape: '', createTime: 1, updateTime: 1 }
  yield* insertEntry(operatorAccess, table, { ...entry, ...stored }, ancestorsOf(uid))
}

const remove = (table: Table, uid: string) => deleteEntry(operatorAccess, table, uid, ancestorsOf(uid))

let uidCount = 0
const newRoot = () => (++uidCount).toString(16).padStart(40, '0')
const newChild = (parent: string) => `${parent}/${(++uidCount).toString(16).padStart(16, '0')}`

async function assertCorrect(store: Store): Promise<void> {
  assert.deepEqual(await checkTally(store, kinds, false), [])
}

onEachMigrated(['SQLite', 'PostgreSQL'], 'the tally', (testStore) => {
  let store: Store
  before(async () => {
    store = await openMigrated(testStore())
  })

  test('counts resources directly in a group and below it', async () => {
    const root = newRoot()
    const [team, other] = [newChild(root), newChild(root)]
    const leaf = newChild(team)
    await store.write(function* () {
      for (const uid of [root, team, other, leaf]) yield* insert(groups, uid)
      yield* insert(identities, newChild(leaf))
      yield* insert(identities, newChild(leaf))
    })
    const [ofGroups, ofIdentities, contents] = await store.read(function* () {
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
    assert.deepEqual(contents, [{ kind: 'identities', count: 2 }])
  })

  test('has no counts of a group after the group is deleted', async () => {
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

  test('is correct after any sequence of writes, including failed ones', async () => {
    const step = fc.record({
      action: fc.constantFrom('insert', 'delete', 'throw', 'orphan', 'duplicate'),
      isGroup: fc.boolean(),
      at: fc.nat(),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 25, size: 'max' }),
        async (works) => {
          const history = startHistory()
          await store.write(() => insert(groups, history.root))
          for (const steps of works) await store.write(() => history.run(steps)).catch(history.ignoreExpected)
          await assertCorrect(store)
          assert.deepEqual(await countsOf(store, history.root), history.counts())
        },
      ),
      { numRuns: 10 },
    )
  })

  test('is correct after concurrent writes in one organization', async () => {
    await race(testStore(), store)
    await assertCorrect(store)
  })

  describe('check', () => {
    test('finds and repairs wrong counts', async () => {
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
      const tallied = {
        [root]: { children: 1, subtree: 5 },
        [team]: nothing,
        [gone]: { children: 1, subtree: 1 },
      }
      const counted = {
        [root]: { children: 1, subtree: 2 },
        [team]: { children: 1, subtree: 1 },
        [gone]: nothing,
      }
      for (const shouldRepair of [false, true]) {
        const differences = await checkTally(store, kinds, shouldRepair)
        assert.deepEqual(
          Object.fromEntries(differences.map(({ group, tallied: count }) => [group, count])),
          tallied,
        )
        assert.deepEqual(
          Object.fromEntries(differences.map(({ group, counted: count }) => [group, count])),
          counted,
        )
      }
      await assertCorrect(store)
    })

    test('finds no differences while others write', async () => {
      let isOver = false
      const racing = race(testStore(), store).finally(() => {
        isOver = true
      })
      const checker = testStore().open()
      while (!isOver) {
        await assertCorrect(checker)
        await turn()
      }
      await racing
    })

    test('repairs wrong counts while others write', async () => {
      let isOver = false
      const racing = race(testStore(), store).finally(() => {
        isOver = true
      })
      const checker = testStore().open()
      let repaired = 0
      while (!isOver) {
        const damagedStripe = ++uidCount
        // The others write to the newest organization.
        await checker.write(function* () {
          yield sql`insert into tally (kind, place, stripe, children, subtree)
            select 'groups', max(place), ${damagedStripe}, 1, -2 from tally where place not like '%/%'`
        })
        repaired += (await checkTally(checker, kinds, true)).length
        await assertCorrect(checker)
        await turn()
      }
      await racing
      assert.ok(repaired > 0)
      await assertCorrect(store)
    })
  })
})

const nothing = { children: 0, subtree: 0 }

type Step = { action: string; isGroup: boolean; at: number }

/** A naive model of the content of an organization. */
function startHistory() {
  const root = newRoot()
  let rows: { table: Table; uid: string }[] = [{ table: groups, uid: root }]

  function* run(steps: readonly Step[]): Work<void> {
    const next = [...rows]
    for (const { action, isGroup, at } of steps) {
      const table = isGroup ? groups : identities
      const places = next.filter((row) => row.table === groups)
      const place = (places[at % places.length] ?? { uid: root }).uid
      const target = next[at % next.length]
      if (action === 'throw') throw new Error('thrown by the work')
      if (action === 'orphan') yield* insert(table, newChild(newChild(place)))
      if (action === 'duplicate' && target) yield* insert(target.table, target.uid)
      if (action === 'delete' && target && target.uid !== root) {
        yield* remove(target.table, target.uid)
        next.splice(next.indexOf(target), 1)
      }
      if (action === 'insert') {
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
    ignoreExpected(error: unknown) {
      const isExpected = isStoreError('foreign-key')(error) || isStoreError('unique')(error)
      if (!isExpected && (error as Error).message !== 'thrown by the work') throw error
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

/** Several stores on the same data create and delete in one organization; some of the writes fail halfway. */
async function race(testStore: TestStore, store: Store): Promise<void> {
  const root = newRoot()
  const teams = Array.from({ length: 3 }, () => newChild(root))
  await store.write(function* () {
    for (const uid of [root, ...teams]) yield* insert(groups, uid)
  })
  const stores = [store, testStore.open(), testStore.open()]
  await Promise.all(
    Array.from({ length: 24 }, async (_, writer) => {
      const writerStore = stores[writer % stores.length] as Store
      for (let round = 0; round < 6; round++) {
        const uid = newChild(teams[(writer + round) % teams.length] ?? root)
        const isKept = round % 3 !== 2
        const writing = writerStore.write(function* () {
          yield* insert(groups, uid)
          yield* insert(identities, newChild(uid))
          if (!isKept) throw new Error('thrown by the work')
        })
        await (isKept ? writing : assert.rejects(writing, /thrown by the work/))
        const leaf = newChild(uid)
        if (isKept) await writerStore.write(() => insert(groups, leaf))
        if (isKept && round % 2 === 0) await writerStore.write(() => remove(groups, leaf))
      }
    }),
  )
}
