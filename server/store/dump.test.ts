import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backupLines } from './backup.ts'
import { openRowCollector } from './dump.ts'
import { loadMigrations } from './migrations.ts'
import { raw, sql } from './sql.ts'
import { onEach, openMigrated } from './test-stores.ts'

test('a portion is full if it has 500 rows, or a size of 1 MiB', () => {
  const collector = openRowCollector()
  for (let at = 0; at < 499; at++) collector.add(['x', at, null])
  assert.equal(collector.isFull(), false)
  collector.add(['x', 499, null])
  assert.equal(collector.isFull(), true)
  assert.equal(collector.drain().length, 500)
  collector.add(['x'.repeat(600_000), new Uint8Array(400_000)])
  assert.equal(collector.isFull(), false)
  collector.add([new Uint8Array(60_000)])
  assert.equal(collector.isFull(), true)
  assert.equal(collector.drain().length, 2)
  assert.deepEqual([collector.isFull(), collector.drain()], [false, []])
})

test('the values of a row are read once, however many rows follow', () => {
  let reads = 0
  const counted = new Proxy(['value'], {
    get(target, key, receiver) {
      if (key === '0') reads++
      return Reflect.get(target, key, receiver)
    },
  })
  const collector = openRowCollector()
  collector.add(counted)
  for (let at = 0; at < 400; at++) {
    collector.add(['x'])
    collector.isFull()
  }
  assert.equal(reads, 1)
})

onEach(['SQLite', 'PostgreSQL'], 'a backup', (testStore) => {
  test('has the tables of the migrations, except transient ones, and no tables of other programs', async () => {
    await testStore()
      .open()
      .write(function* () {
        yield raw('create table others (key text primary key)')
        yield raw(`insert into others values ('x')`)
      })
    const store = await openMigrated(testStore())
    const lines = (await Array.fromAsync(backupLines(store, loadMigrations()))).join('').split('\n')
    const names = loadMigrations().map(({ name }) => name)
    assert.deepEqual(JSON.parse(lines[0] ?? ''), { stemma: 'backup', edition: 1, migrations: names })
    const tables = lines.filter((line) => line.startsWith('{"table"')).map((line) => JSON.parse(line).table)
    const existing = await store.query(
      raw(
        store.engine === 'sqlite'
          ? `select name from sqlite_schema where type = 'table' and name not like 'sqlite%'`
          : `select tablename from pg_tables where schemaname = current_schema()`,
      ),
    )
    assert.deepEqual(
      ['migrations', 'others', 'rate_copies', ...tables].sort(),
      existing.map(([name]) => name).sort(),
    )
  })

  test('fails if the store has no list of applied migrations', async () => {
    const store = testStore().open()
    const lines = backupLines(store, [{ name: 'x', script: 'create table others (key text primary key)' }])
    await store.write(function* () {
      yield sql`delete from migrations`
    })
    await assert.rejects(Array.fromAsync(lines), /no list of applied migrations/)
  })

  test('reads the rows of a table in the order of its primary key, which has an index', async () => {
    const store = testStore().open()
    await store.write(function* () {
      yield raw(
        'create table numbered (id text not null, root text, number bigint, primary key (root, number))',
      )
      yield raw(`insert into numbered values ('a', 'r', 3), ('b', 'r', 1), ('c', 'q', 5), ('d', 'r', 2)`)
    })
    const [portion] = await Array.fromAsync(store.snapshot(['numbered']))
    assert.deepEqual(
      portion?.rows.map(([id]) => id),
      ['c', 'b', 'd', 'a'],
    )
  })
})
