// The behaviour that only SQLite has: the lock between processes, the write queue, a full disk.

import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { after, before, describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import type { Store } from '../db.ts'
import { loadMigrations } from '../migrations.ts'
import type { Row } from '../sql.ts'
import { raw, sql } from '../sql.ts'
import { isDiskFull } from '../store-error.ts'
import { isStoreError } from '../test-stores.ts'
import { all } from '../work.ts'
import { openSqlite } from './sqlite.ts'

const locksFile = '/proc/locks'
const skipWithoutLocks = !existsSync(locksFile) && `this system has no ${locksFile}`

function startProcess(script: string): ChildProcess {
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script]
  return spawn(process.execPath, flags, { stdio: ['pipe', 'pipe', 'inherit'] })
}

describe('the SQLite store', () => {
  let folder: string
  let file: string
  let store: Store

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stemma-sqlite-'))
    file = join(folder, 'stemma.db')
    store = openSqlite(file)
    await store.write(() => all(raw('create table kept (key text primary key, a text)')))
  })
  after(async () => {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })

  const put = (key: string) => () => all(sql`insert into kept (key) values (${key})`)
  const has = async (key: string) =>
    (await store.query(sql`select 1 from kept where key = ${key}`)).length > 0

  /** Starts a process that has the lock until the returned function is called or the test ends. */
  async function lockInProcess(context: TestContext): Promise<() => Promise<void>> {
    const child = startProcess(`
      import { DatabaseSync } from 'node:sqlite'
      const db = new DatabaseSync(${JSON.stringify(file)}, { timeout: 10000 })
      db.exec('begin immediate')
      console.log('locked')
      process.stdin.once('data', () => {
        db.exec('commit')
        process.exit()
      })`)
    const exited = once(child, 'exit')
    context.after(() => child.kill('SIGKILL'))
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    return async () => {
      child.stdin?.write('unlock')
      await exited
    }
  }

  test('a write waits for the lock of another process, and reads continue meanwhile', async (context) => {
    const unlock = await lockInProcess(context)
    let isWritten = false
    const writing = store.write(put('waiting')).then(() => {
      isWritten = true
    })
    for (let reads = 0; reads < 10; reads++) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      assert.equal(await has('waiting'), false)
    }
    assert.equal(isWritten, false)
    await unlock()
    await writing
    assert.ok(await has('waiting'))
  })

  test('a write fails after the lock timeout, and the next one succeeds', async (context) => {
    const other = openSqlite(file, { lockTimeoutMs: 50 })
    const unlock = await lockInProcess(context)
    await assert.rejects(other.write(put('timed out')), isStoreError('unavailable'))
    await unlock()
    await other.write(put('later'))
    assert.deepEqual([await has('timed out'), await has('later')], [false, true])
    await other.close()
  })

  test('a write fails at its deadline, also while another process has the lock', async (context) => {
    const unlock = await lockInProcess(context)
    const waiting = store.write(put('not late'))
    await assert.rejects(store.write(put('too late'), Date.now() + 30), isStoreError('deadline'))
    await unlock()
    await waiting
    assert.deepEqual([await has('not late'), await has('too late')], [true, false])
  })

  test('a write waits for the lock for the whole timeout, also if an earlier one failed at its deadline', async (context) => {
    let now = 0
    let onSleep = async () => {}
    const clock = { ...systemClock, now: () => now, sleep: () => onSleep() }
    const other = openSqlite(file, { lockTimeoutMs: 1000, clock })
    const unlock = await lockInProcess(context)
    onSleep = async () => {
      now = 100
    }
    await assert.rejects(other.write(put('failed'), 50), isStoreError('deadline'))
    now = 5000
    let sleeps = 0
    onSleep = async () => {
      if (++sleeps === 2) await unlock()
    }
    await other.write(put('waited'))
    assert.ok(await has('waited'))
    await other.close()
  })

  test('processes that start together on a new file all open it, and one of them migrates it', async () => {
    const fresh = join(folder, 'fresh.db')
    const from = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
    const script = `
      import { openSqlite } from ${from('./sqlite.ts')}
      import { loadMigrations } from ${from('../migrations.ts')}
      const store = openSqlite(${JSON.stringify(fresh)})
      console.log((await store.migrate(loadMigrations())).length)
      await store.close()`
    const outputs = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const child = startProcess(script)
        const [[chunk], [code]] = await Promise.all([
          once(child.stdout as NodeJS.ReadableStream, 'data'),
          once(child, 'exit'),
        ])
        assert.equal(code, 0)
        return Number(chunk)
      }),
    )
    assert.deepEqual(outputs.sort(), [0, 0, 0, loadMigrations().length])
  })

  test('opening the store again in the same process keeps its lock', { skip: skipWithoutLocks }, async () => {
    const locked = join(folder, 'locked.db')
    const first = openSqlite(locked)
    await first.write(() => all(raw('create table kept (key text primary key)')))
    const { ino } = await stat(locked)
    const isLocked = async () => (await readFile(locksFile, 'utf8')).includes(`:${ino} `)
    assert.ok(await isLocked())

    const second = openSqlite(locked)
    assert.ok(await isLocked(), 'after the store was opened in the same thread')
    await second.close()
    assert.ok(await isLocked(), 'after the second store was closed')

    const program = new URL('./sqlite.ts', import.meta.url).href
    const script = `import('${program}').then(({ openSqlite }) => openSqlite(${JSON.stringify(locked)}).close())`
    await once(new Worker(script, { eval: true }), 'exit')
    assert.ok(await isLocked(), 'after the store was opened and closed in another thread')

    const portions = await Array.fromAsync(first.snapshot(['kept']))
    assert.ok(portions.length > 0 && (await isLocked()), 'after a snapshot')
    await first.close()
  })

  test('when the disk is full, the writes of a commit fail and none of them is stored', async () => {
    const limitPages = async (pages: number) =>
      store.write(() => all(raw(`pragma max_page_count = ${pages}`)))
    const [used] = await store.query(raw('pragma page_count'))
    await limitPages((used?.[0] as number) + 4)
    const large = sql`insert into kept (key, a) values ('large', ${'x'.repeat(1_000_000)})`
    const writes = [store.write(put('full-1')), store.write(() => all(large)), store.write(put('full-2'))]
    const outcomes = await Promise.allSettled(writes)
    for (const [at, key] of ['full-1', 'large', 'full-2'].entries()) {
      const isStored = await has(key)
      assert.equal(outcomes[at]?.status, isStored ? 'fulfilled' : 'rejected', key)
    }
    for (const outcome of outcomes.slice(0, 2)) {
      const error = outcome.status === 'rejected' && outcome.reason
      assert.ok(isStoreError('unavailable')(error) && isDiskFull(error))
    }
    await limitPages(1_000_000)
    await store.write(put('after the full disk'))
    assert.ok(await has('after the full disk'))
  })

  test('writes beyond the limit of the queue fail immediately', async () => {
    const writes = Array.from({ length: 10_001 }, () =>
      store.write(function* () {
        yield sql`select 1`
      }),
    )
    const outcomes = await Promise.allSettled(writes)
    const refused = outcomes.filter(({ status }) => status === 'rejected')
    assert.equal(refused.length, 1)
    assert.equal(outcomes.at(-1), refused[0])
  })

  test('a long queue of writes does not delay reads', async () => {
    let written = 0
    const writes = Array.from({ length: 2_000 }, (_, at) =>
      store.write(put(`queued-${at}`)).then(() => {
        written++
      }),
    )
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    await store.query(sql`select 1`)
    assert.ok(written < writes.length)
    await Promise.all(writes)
  })

  test('a closed store rejects writes', async () => {
    const closed = openSqlite(join(folder, 'closed.db'))
    await closed.close()
    await closed.close()
    await assert.rejects(closed.write(put('x')), isStoreError('unavailable'))
  })

  test('a store that is closed twice at once completes its writes, and both calls to close return', async () => {
    const closing = openSqlite(join(folder, 'closing.db'))
    const write = closing.write(() => all(raw('create table kept (key text primary key)')))
    await Promise.all([write, closing.close(), closing.close()])
  })

  test('a commit accepts no further writes after 20 ms, by the clock of the store', async () => {
    let time = 0
    const clock = { ...systemClock, now: () => time }
    const clocked = openSqlite(join(folder, 'clocked.db'), { clock, sync: async () => {} })
    await clocked.write(() => all(raw('create table kept (key text primary key)')))
    const turns: number[] = []
    let turn = 0
    const writes = Array.from({ length: 10 }, (_, at) =>
      clocked.write(function* () {
        time += 7
        turns[at] = turn
        yield sql`insert into kept (key) values (${String(at)})`
      }),
    )
    const countTurn = () => {
      turn++
      if (turn < 50) setImmediate(countTurn)
    }
    setImmediate(countTurn)
    await Promise.all(writes)
    const writesByTurn = Map.groupBy(turns, (value) => value)
    assert.deepEqual(
      [...writesByTurn.values()].map(({ length }) => length),
      [3, 3, 3, 1],
    )
    await clocked.close()
  })

  test('a write does not run after its deadline, by the clock of the store', async () => {
    const clocked = openSqlite(join(folder, 'late.db'), { clock: { ...systemClock, now: () => 1000 } })
    const write = (deadline: number) => clocked.write(() => all(sql`select 1`), deadline)
    await assert.rejects(write(999), isStoreError('deadline'))
    assert.deepEqual(await write(1000), [[1]])
    await clocked.close()
  })

  test('a read sees what another thread has committed in the same turn of the event loop', async () => {
    const commits = new Int32Array(new SharedArrayBuffer(4))
    const reader = openSqlite(file, { commits })
    const otherThread = new DatabaseSync(file)
    const count = () => (reader.query(raw(`select count(*) from kept where key = 'other'`)) as Row[])[0]?.[0]
    try {
      assert.equal(count(), 0)
      otherThread.exec(`insert into kept (key) values ('other')`)
      Atomics.add(commits, 0, 1)
      assert.equal(count(), 1)
      await reader.write(put('own'))
      assert.equal(Atomics.load(commits, 0), 2)
    } finally {
      otherThread.close()
      await reader.close()
    }
  })
})
