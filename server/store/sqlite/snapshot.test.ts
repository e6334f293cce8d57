import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import type { Store } from '../db.ts'
import { currentSnapshot } from '../snapshot.ts'
import { raw, sql } from '../sql.ts'
import { all } from '../work.ts'
import { openSqlite } from './sqlite.ts'

describe('a snapshot of SQLite', () => {
  let folder: string
  let store: Store
  let other: DatabaseSync

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stemma-snapshot-'))
    store = openSqlite(join(folder, 'stemma.db'))
    await store.write(() => all(raw('create table kept (key text primary key)')))
    other = new DatabaseSync(join(folder, 'stemma.db'))
  })
  after(async () => {
    other.close()
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })

  const current = async () => store.read(currentSnapshot)
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

  test('two reads get the same snapshot if nobody has committed, also in different turns of the event loop', async () => {
    const snapshot = await current()
    assert.ok(snapshot)
    assert.equal(await current(), snapshot)
    await nextTurn()
    assert.equal(await current(), snapshot)
  })

  test('a write, and a write of another connection, make another snapshot', async () => {
    const first = await current()
    await store.write(() => all(sql`insert into kept (key) values ('own')`))
    const second = await current()
    assert.notEqual(second, first)
    await nextTurn()
    other.exec(`insert into kept (key) values ('of another connection')`)
    assert.notEqual(await current(), second)
  })

  test('a read that has asked for its snapshot does not see what others commit afterwards', async () => {
    await nextTurn()
    const { snapshot, count } = await store.read(function* () {
      const asked = yield* currentSnapshot()
      other.exec(`insert into kept (key) values ('meanwhile')`)
      const [row] = yield raw(`select count(*) from kept where key = 'meanwhile'`)
      return { snapshot: asked, count: row?.[0] }
    })
    assert.equal(count, 0)
    await nextTurn()
    assert.notEqual(await current(), snapshot)
  })

  test('a write has no snapshot', async () => {
    assert.equal(await store.write(currentSnapshot), undefined)
  })
})
