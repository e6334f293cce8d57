import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Store } from './db.ts'
import { rolledBackStore } from './rolled-back-store.ts'
import { raw, sql } from './sql.ts'
import { onEachMigrated, openMigrated } from './test-stores.ts'
import type { Work } from './work.ts'
import { all } from './work.ts'

onEachMigrated(['SQLite', 'PostgreSQL'], 'a store that rolls back', (testStore) => {
  let store: Store
  let dry: Store
  before(async () => {
    store = await openMigrated(testStore())
    dry = rolledBackStore(store)
  })
  const insert = (name: string) => sql`insert into tasks (name, next_time) values (${name}, 1)`
  const names = async () => (await store.query(raw('select name from tasks order by name'))).flat()

  function* insertAndRead(name: string): Work<unknown[]> {
    yield insert(name)
    const rows = yield sql`select name from tasks where name = ${name}`
    return rows.flat()
  }

  test('returns the result of a write, which sees its own changes, but stores none of them', async () => {
    assert.deepEqual(await dry.write(() => insertAndRead('a')), ['a'])
    assert.deepEqual(await names(), [])
  })

  test('passes errors on', async () => {
    const failing = dry.write(function* () {
      yield insert('a')
      throw new Error('refused')
    })
    await assert.rejects(failing, /^Error: refused$/)
    const conflict = dry.write(function* () {
      yield insert('a')
      yield insert('a')
    })
    await assert.rejects(conflict, { name: 'StoreError', kind: 'unique' })
  })

  test('does not roll back concurrent writes', async () => {
    const results = await Promise.all([
      store.write(() => insertAndRead('kept 1')),
      dry.write(() => insertAndRead('b')),
      store.write(() => insertAndRead('kept 2')),
      dry.write(() => all(sql`delete from tasks returning name`)),
      store.write(() => insertAndRead('kept 3')),
    ])
    assert.deepEqual(results[1], ['b'])
    assert.deepEqual(await names(), ['kept 1', 'kept 2', 'kept 3'])
  })
})
