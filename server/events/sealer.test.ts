import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import pg from 'pg'
import type { Store } from '../store/db.ts'
import { hasUnsealed } from '../store/events/seal.ts'
import { sql } from '../store/sql.ts'
import { onEachMigrated, openMigrated } from '../store/test-stores.ts'
import type { Work } from '../store/work.ts'
import { all } from '../store/work.ts'
import { openSealer } from './sealer.ts'

function* nothing(): Work<void> {}

const fail = (error: unknown) => assert.fail(String(error))

function* recordUnsealed(): Work<void> {
  const root = randomBytes(20).toString('hex')
  yield* all(sql`insert into unsealed_events
    (id, root, group_uid, kind, uid, action, method, actor, origin, time, code)
    values (${root}, ${root}, ${root}, 'groups', 'a', 'created', 'test', '', '{}', 1, 0)`)
}

/** The store, with a function that is called after each commit, before `write` resolves. */
const withWriteHook = (store: Store, onWritten: () => Promise<void>): Store => ({
  ...store,
  async write(work, deadline) {
    const value = await store.write(work, deadline)
    await onWritten()
    return value
  },
})

onEachMigrated(['SQLite', 'PostgreSQL'], 'a sealer that is stopped', (testStore) => {
  let store: Store
  before(async () => {
    store = await openMigrated(testStore())
  })
  after(() => store.close())

  test('seals events that were committed while it was sealing', async () => {
    let stopped: Promise<void> | undefined
    const hooked = withWriteHook(store, async () => {
      if (stopped) return
      await store.write(recordUnsealed)
      stopped = sealer.stop()
    })
    const sealer = openSealer({ store: hooked, fanOut: nothing, onError: fail })
    await store.write(recordUnsealed)
    await sealer.run()
    await stopped
    assert.deepEqual(await store.query(hasUnsealed), [])
  })
})

onEachMigrated(['PostgreSQL'], 'a sealer that is stopped while another process seals', (testStore) => {
  let store: Store
  before(async () => {
    store = await openMigrated(testStore())
  })
  after(() => store.close())

  test('seals afterwards', async (t) => {
    const other = new pg.Client(testStore().address)
    await other.connect()
    t.after(() => other.end())
    await other.query('select pg_advisory_lock(7386215)')
    let attempts = 0
    const hooked = withWriteHook(store, async () => {
      if (++attempts === 1) await other.query('select pg_advisory_unlock(7386215)')
    })
    const sealer = openSealer({ store: hooked, fanOut: nothing, onError: fail, delayMs: 1 })
    await store.write(recordUnsealed)
    await sealer.stop()
    assert.equal(attempts, 2)
    assert.deepEqual(await store.query(hasUnsealed), [])
  })
})
