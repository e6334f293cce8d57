// The behaviour that only PostgreSQL has: conflicts, lost connections, timeouts.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import type { Database } from '../../testing/postgres.ts'
import { createDatabase } from '../../testing/postgres.ts'
import type { Store } from '../db.ts'
import { raw, sql } from '../sql.ts'
import { isStoreError } from '../test-stores.ts'
import type { Work } from '../work.ts'
import { all } from '../work.ts'
import type { PostgresOptions } from './postgres.ts'
import { openPostgres } from './postgres.ts'

const clusterUrl = process.env.STEMMA_TEST_POSTGRES ?? ''
const skip = clusterUrl === '' && 'PostgreSQL is not running: STEMMA_TEST_POSTGRES is not set'

describe('a store on PostgreSQL', { skip }, () => {
  let database: Database
  let admin: pg.Client
  let store: Store
  const opened: Store[] = []

  const open = (options: Partial<PostgresOptions> = {}) => {
    const newStore = openPostgres({ url: database.url, ...options })
    opened.push(newStore)
    return newStore
  }

  before(async () => {
    database = await createDatabase(clusterUrl)
    admin = new pg.Client(database.url)
    await admin.connect()
    const [, name] = new URL(database.url).pathname.split('/')
    await admin.query(`alter database ${name} set deadlock_timeout = '20ms'`)
    await admin.query('create table kept (key text primary key, n bigint)')
    await admin.query(`insert into kept values ('a', 0), ('b', 0), ('c', 0)`)
    store = open()
  })
  after(async () => {
    await Promise.all(opened.map((other) => other.close()))
    await admin.end()
    await database.drop()
  })

  const add = (key: string) => sql`update kept set n = n + 1 where key = ${key}`
  const numberOf = async (key: string) =>
    (await store.query(sql`select n from kept where key = ${key}`))[0]?.[0]

  /** A barrier: two works reach it before either continues. */
  function openBarrier() {
    const arrived = new Set<string>()
    return function* (name: string): Work<void> {
      arrived.add(name)
      while (arrived.size < 2) yield sql`select 1`
    }
  }

  test('settings in the URL are used together with those of the store', async () => {
    const url = new URL(database.url)
    url.searchParams.set('options', '-c work_mem=5MB')
    const other = open({ url: url.href })
    const [settings] = await other.query(
      raw(`select current_setting('work_mem'), current_setting('enable_seqscan')`),
    )
    assert.deepEqual(settings, ['5MB', 'off'])
  })

  test('two writes that deadlock both succeed', async () => {
    const barrier = openBarrier()
    let attempts = 0
    const crossing = (first: string, second: string) =>
      store.write(function* () {
        attempts++
        yield add(first)
        yield* barrier(first)
        yield add(second)
      })
    await Promise.all([crossing('a', 'b'), crossing('b', 'a')])
    assert.deepEqual([await numberOf('a'), await numberOf('b')], [2, 2])
    assert.ok(attempts > 2, 'a deadlock was provoked')
  })

  test('a write runs again after a serialization failure', async () => {
    const barrier = openBarrier()
    let attempts = 0
    const counting = (name: string) =>
      store.write(function* () {
        attempts++
        yield raw('set transaction isolation level serializable')
        const [row] = yield sql`select sum(n) from kept where key in ('a', 'b', 'c')`
        yield* barrier(name)
        yield sql`insert into kept values (${name}, ${row?.[0] as number})`
        yield sql`update kept set n = n + 1 where key = 'c'`
      })
    await Promise.all([counting('first'), counting('second')])
    assert.ok(attempts > 2, 'a conflict was provoked')
    const [first, second] = [await numberOf('first'), await numberOf('second')] as [number, number]
    assert.equal(Math.abs(first - second), 1)
  })

  test('connections that are lost while idle are replaced', async () => {
    const errors: unknown[] = []
    const other = open({ onIdleError: (error) => errors.push(error) })
    await Promise.all(Array.from({ length: 5 }, () => other.query(sql`select pg_sleep(0.01)`)))
    await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'stemma'`)
    for (let at = 0; at < 10; at++) await other.write(() => all(add('c')))
    assert.ok(errors.length > 0)
  })

  test('a write runs again if its connection is lost before the commit', async () => {
    const before = (await numberOf('a')) as number
    let attempts = 0
    await store.write(function* () {
      yield add('a')
      if (++attempts === 1) yield sql`select pg_terminate_backend(pg_backend_pid())`
    })
    assert.equal(attempts, 2)
    assert.equal(await numberOf('a'), before + 1)
  })

  test('a write does not run again if its connection is lost during the commit', async () => {
    await admin.query(`create table fatal (key text);
      create function end_connection() returns trigger language plpgsql
        as 'begin perform pg_terminate_backend(pg_backend_pid()); return null; end';
      create constraint trigger at_commit after insert on fatal deferrable initially deferred
        for each row execute function end_connection()`)
    let attempts = 0
    const breaking = store.write(function* () {
      attempts++
      yield sql`insert into fatal values ('x')`
    })
    await assert.rejects(breaking, isStoreError('unavailable'))
    assert.equal(attempts, 1)
    await store.write(() => all(add('c')))
  })

  test('a read runs again if its connection is lost', async () => {
    let attempts = 0
    const rows = await store.read(function* () {
      if (++attempts === 1) yield sql`select pg_terminate_backend(pg_backend_pid())`
      return yield* all(sql`select 1`)
    })
    assert.deepEqual([attempts, rows], [2, [[1]]])
  })

  test('a write that waits for a lock fails at its deadline and changes nothing', async () => {
    const before = (await numberOf('b')) as number
    await admin.query(`begin; update kept set n = n where key = 'a'`)
    const waiting = store.write(function* () {
      yield add('b')
      yield add('a')
    }, Date.now() + 100)
    await assert.rejects(waiting, isStoreError('deadline'))
    await admin.query('rollback')
    assert.equal(await numberOf('b'), before)
  })

  test('a write runs no further statement after its deadline', async () => {
    const deadline = Date.now() + 50
    let steps = 0
    const slow = store.write(function* () {
      for (; steps < 1_000_000; steps++) yield add('c')
    }, deadline)
    await assert.rejects(slow, isStoreError('deadline'))
    assert.ok(steps < 1_000_000)
  })

  test('a statement fails after the statement timeout', async () => {
    const limited = open({ readTimeoutMs: 50 })
    const sleep = (seconds: number) => sql`select pg_sleep(${seconds})`
    await assert.rejects(async () => limited.query(sleep(60)), isStoreError('deadline'))
    await assert.rejects(async () => limited.read(() => all(sleep(60))), isStoreError('deadline'))
    assert.deepEqual(await limited.query(sql`select 1`), [[1]])
  })

  test('a write has a timeout of its own, and ends at its deadline at the latest', async () => {
    const limited = open({ readTimeoutMs: 50, writeTimeoutMs: 60_000, replyMarginMs: 0 })
    const sleep = (seconds: number) => () => all(sql`select pg_sleep(${seconds})`)
    await limited.write(sleep(0.2))
    await assert.rejects(limited.write(sleep(60), Date.now() + 100), isStoreError('deadline'))
    const short = open({ writeTimeoutMs: 50 })
    await assert.rejects(short.write(sleep(60)), isStoreError('deadline'))
  })

  test('a call fails if it gets no connection in time', async () => {
    const narrow = open({ connections: 1, connectionTimeoutMs: 500 })
    // On a busy machine, opening a connection can take longer than the timeout. Once one is open, the pool keeps it.
    const isConnected = () =>
      Promise.resolve(narrow.query(sql`select 1`)).then(
        () => true,
        () => false,
      )
    while (!(await isConnected()));
    let isBlocked = true
    const blocking = narrow.read(function* () {
      while (isBlocked) yield sql`select 1`
    })
    await assert.rejects(async () => narrow.query(sql`select 1`), isStoreError('unavailable'))
    isBlocked = false
    await blocking
    assert.deepEqual(await narrow.query(sql`select 1`), [[1]])
  })

  test('a server that cannot be reached is unavailable', async () => {
    const nowhere = open({ url: 'postgres://stemma@127.0.0.1:1/stemma' })
    await assert.rejects(async () => nowhere.query(sql`select 1`), isStoreError('unavailable'))
    await assert.rejects(nowhere.migrate([]), { code: 'ECONNREFUSED' })
  })

  test('a failed write leaves no open transaction', async () => {
    const single = open({ connections: 1 })
    await assert.rejects(single.write(() => all(raw('select nonsense'))))
    await assert.rejects(
      single.write(function* () {
        yield add('c')
        throw new Error('thrown by the work')
      }),
      /thrown by the work/,
    )
    await single.write(() => all(add('c')))
    const { rows } = await admin.query(`select pid from pg_stat_activity
      where datname = current_database() and application_name = 'stemma' and state like 'idle in transaction%'`)
    assert.deepEqual(rows, [])
  })

  test('a snapshot may wait longer than the statement timeout', async () => {
    const limited = open({ readTimeoutMs: 100, replyMarginMs: 0 })
    await admin.query('begin; lock table kept in access exclusive mode')
    const reading = Array.fromAsync(limited.snapshot(['kept']))
    const outcome = await Promise.race([reading.then(String, String), setTimeout(300, 'waits')])
    await admin.query('rollback')
    assert.equal(outcome, 'waits')
    assert.ok((await reading)[0]?.rows.length)
  })

  test('a snapshot fails if its connection is lost between two portions', async () => {
    const reading = store.snapshot(['kept'])
    await reading.next()
    await admin.query(`select pg_terminate_backend(pid, 60000) from pg_stat_activity
      where datname = current_database() and query like 'fetch%'`)
    await assert.rejects(reading.next())
    assert.deepEqual(await store.query(sql`select 1`), [[1]])
  })

  test('processes that start together wait for the one that migrates, even longer than the statement timeout', async () => {
    const slow = { name: '0001-slow', script: 'create table slow (key text); select pg_sleep(0.3);' }
    const stores = Array.from({ length: 8 }, () => open({ readTimeoutMs: 100 }))
    const applied = await Promise.all(stores.map((other) => other.migrate([slow])))
    assert.deepEqual(applied.flat(), [slow.name])
  })
})
