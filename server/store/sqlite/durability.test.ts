import assert from 'node:assert/strict'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import type { Store } from '../db.ts'
import { raw, sql } from '../sql.ts'
import { isStoreError } from '../test-stores.ts'
import { all } from '../work.ts'
import { openCheckpoints } from './checkpoint.ts'
import { adaptiveSync } from './durability.ts'
import type { SqliteOptions } from './sqlite.ts'
import { openSqlite } from './sqlite.ts'

describe('the embedded store', () => {
  let folder: string
  let stores = 0
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stemma-durability-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  async function openStore(options: SqliteOptions) {
    const file = join(folder, `${stores++}.db`)
    const store = openSqlite(file, options)
    await store.write(() => all(raw('create table kept (key text primary key)')))
    return { file, store }
  }

  const put = (key: string) => () => all(sql`insert into kept (key) values (${key})`)
  const countOf = async (store: Store) => (await store.query(raw('select count(*) from kept')))[0]?.[0]

  /** Replaces the sync of the store. After `hold`, each sync ends when the test resolves its promise in `held`. */
  function heldSyncs() {
    const held: PromiseWithResolvers<void>[] = []
    let isHolding = false
    return {
      held,
      hold: () => {
        isHolding = true
      },
      sync() {
        if (!isHolding) return Promise.resolve()
        const running = Promise.withResolvers<void>()
        held.push(running)
        return running.promise
      },
    }
  }

  test('resolves a write after its commit was synced, and then commits all waiting writes together', async () => {
    const { held, hold, sync } = heldSyncs()
    const { store } = await openStore({ sync })
    hold()
    const resolved: string[] = []
    const write = (key: string) => store.write(put(key)).then(() => resolved.push(key))
    const first = write('first')
    while ((await countOf(store)) !== 1) await new Promise(setImmediate)
    const others = [write('second')]
    await new Promise(setImmediate)
    others.push(write('third'))
    await new Promise(setImmediate)
    assert.deepEqual([held.length, resolved, await countOf(store)], [1, [], 1])
    held[0]?.resolve()
    await first
    while (held.length < 2) await new Promise(setImmediate)
    assert.deepEqual(resolved, ['first'])
    held[1]?.resolve()
    await Promise.all(others)
    assert.equal(held.length, 2)
    await store.close()
  })

  test('is closed only after the writes that wait for a sync have resolved', async () => {
    const { held, hold, sync } = heldSyncs()
    const { store } = await openStore({ sync })
    hold()
    let isResolved = false
    const writing = store.write(put('last')).then(() => {
      isResolved = true
    })
    while (held.length === 0) await new Promise(setImmediate)
    const closing = store.close()
    assert.equal(isResolved, false)
    held[0]?.resolve()
    await closing
    assert.equal(isResolved, true)
    await writing
  })

  test('accepts no writes after a failed sync, until it is opened again', async () => {
    const { held, hold, sync } = heldSyncs()
    const { file, store } = await openStore({ sync })
    hold()
    const failing = store.write(put('unsynced'))
    while ((await countOf(store)) !== 1) await new Promise(setImmediate)
    const waiting = store.write(put('waiting'))
    while (held.length === 0) await new Promise(setImmediate)
    held[0]?.reject(new Error('EIO'))
    for (const write of [failing, waiting]) await assert.rejects(write, isStoreError('unavailable'))
    await assert.rejects(store.write(put('refused')), isStoreError('unavailable'))
    assert.deepEqual([held.length, await countOf(store)], [1, 1])
    await store.close()
    const again = openSqlite(file)
    await again.write(put('later'))
    await again.close()
  })

  test('checkpoints its log in a thread while it is read and written', async () => {
    const { file, store } = await openStore({ walLimit: 400_000 })
    let written = 0
    let [size, largest] = [0, 0]
    while (size >= largest || largest < 400_000) {
      await Promise.all(
        Array.from({ length: 20 }, () => store.write(put(`${written++} ${'x'.repeat(2000)}`))),
      )
      assert.equal(await countOf(store), written)
      largest = Math.max(size, largest)
      size = (await stat(`${file}-wal`)).size
    }
    await store.close()
    const again = openSqlite(file)
    assert.equal(await countOf(again), written)
    await again.close()
  })

  test('delays no writes while a checkpoint waits for a reader', async () => {
    const { file, store } = await openStore({})
    const reader = new DatabaseSync(file, { readOnly: true })
    reader.exec('begin; select count(*) from kept')
    await store.write(put('after the reader has begun'))
    const checkpoints = openCheckpoints(file, 1)
    const began = performance.now()
    checkpoints.onWalSize(1)
    let isRunning = true
    const ended = checkpoints.ended().then(() => {
      isRunning = false
    })
    let [latest, longest] = [began, 0]
    for (let at = 0; isRunning; at++) {
      await store.write(put(`${at}`))
      longest = Math.max(longest, performance.now() - latest)
      latest = performance.now()
    }
    await ended
    assert.ok(longest < (latest - began) / 2, `${longest} of ${latest - began} ms`)
    reader.close()
    await store.close()
  })
})

/** An adaptive sync with a simulated clock. Only syncs and calls of `pass` advance the clock. */
function simulatedSync() {
  let [time, active] = [0, 0]
  let duration = 0
  const places: string[] = []
  const take = (place: string) => {
    places.push(place)
    time += duration
    if (place === 'loop') active += duration
  }
  const sync = adaptiveSync({
    now: () => time,
    activeMs: () => active,
    syncOnLoop: () => take('loop'),
    syncInPool: async () => take('pool'),
  })
  return {
    places,
    async syncFor(ms: number, writes = 1) {
      duration = ms
      await sync(1, writes)
    },
    /** Lets time pass, during a share of which the event loop is active. */
    pass(ms: number, share: number) {
      time += ms
      active += ms * share
    },
  }
}

test('a log is synced on the event loop while that takes less than three milliseconds, and otherwise in the thread pool', async () => {
  const { places, syncFor } = simulatedSync()
  for (const ms of [0.2, 0.3, 30, 4, 0.9, 0.2]) await syncFor(ms)
  assert.deepEqual(places, ['loop', 'loop', 'loop', 'pool', 'pool', 'loop'])
})

test('while the event loop is busy, the log is synced in the thread pool, unless many writes wait for it', async () => {
  const { places, syncFor, pass } = simulatedSync()
  pass(200, 0.6)
  await syncFor(1)
  pass(200, 0.8)
  await syncFor(1)
  await syncFor(1, 8)
  await syncFor(1, 7)
  pass(200, 0.6)
  await syncFor(1)
  assert.deepEqual(places, ['loop', 'pool', 'loop', 'pool', 'loop'])
})

test('the time of the syncs themselves does not count as activity of the event loop', async () => {
  const { places, syncFor, pass } = simulatedSync()
  for (let count = 0; count < 300; count++) {
    pass(1, 0.6)
    await syncFor(1)
  }
  assert.deepEqual(new Set(places), new Set(['loop']))
})
