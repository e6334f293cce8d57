// The behaviour that both engines have in common.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { anyCodePoint } from '../testing/arbitraries.ts'
import type { Migration, Store } from './db.ts'
import type { Row, Sql, Value } from './sql.ts'
import { raw, sql } from './sql.ts'
import { StoreError } from './store-error.ts'
import { isStoreError, onEach } from './test-stores.ts'
import type { Work } from './work.ts'
import { all, first } from './work.ts'

onEach(['SQLite', 'PostgreSQL'], 'a store', (testStore) => {
  let store: Store
  before(async () => {
    store = testStore().open()
    await store.write(function* () {
      yield raw('create table kept (key text primary key, a text, b bytea, n bigint)')
      yield raw('create table owned (key text primary key, owner text not null references kept (key))')
    })
  })

  const put = (key: string, a: string | null = null) => sql`insert into kept (key, a) values (${key}, ${a})`
  const has = async (key: string) =>
    (await store.query(sql`select 1 from kept where key = ${key}`)).length > 0

  describe('values', () => {
    let keys = 0

    async function roundTrip(a: Value, b: Value, n: Value): Promise<Row> {
      const key = `value-${keys++}`
      await store.write(() => all(sql`insert into kept (key, a, b, n) values (${key}, ${a}, ${b}, ${n})`))
      const [row] = await store.query(sql`select a, b, n from kept where key = ${key}`)
      return row as Row
    }

    test('every Unicode character except NUL is read as it was written', async () => {
      for (let plane = 0; plane < 17; plane++) {
        const points = Array.from({ length: 0x10000 }, (_, at) => plane * 0x10000 + at)
        const text = points.filter(isStorable).map((point) => String.fromCodePoint(point))
        assert.equal((await roundTrip(text.join(''), null, null))[0], text.join(''))
      }
    })

    test('any text is read as it was written', async () => {
      const text = fc.string({ unit: anyCodePoint }).map((random) => random.replaceAll('\0', ''))
      await fc.assert(
        fc.asyncProperty(text, async (a) => assert.equal((await roundTrip(a, null, null))[0], a)),
        { numRuns: 20 },
      )
    })

    test('bytes are read as they were written, also if they are part of a larger buffer', async () => {
      const allBytes = Uint8Array.from({ length: 256 }, (_, at) => at)
      for (const bytes of [allBytes, allBytes.subarray(7, 200), new Uint8Array()]) {
        assert.deepEqual([...((await roundTrip(null, bytes, null))[1] as Uint8Array)], [...bytes])
      }
    })

    test('integers up to 2^53 - 1 are exact', async () => {
      for (const n of [0, -1, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
        assert.equal((await roundTrip(null, null, n))[2], n)
      }
    })

    test('null is read as null', async () => {
      assert.deepEqual(await roundTrip(null, null, null), [null, null, null])
    })

    test('text is never interpreted as SQL', async () => {
      const text = `'; drop table kept; -- $1 ? /*pg x */`
      assert.equal((await roundTrip(text, null, null))[0], text)
    })
  })

  describe('reads', () => {
    test('one statement sees one snapshot', async () => {
      await store.write(() => all(sql`insert into kept (key, n) values ('snapshot-1', 0), ('snapshot-2', 0)`))
      const writing = Array.from({ length: 20 }, () =>
        store.write(() => all(sql`update kept set n = n + 1 where key in ('snapshot-1', 'snapshot-2')`)),
      )
      for (let reads = 0; reads < 20; reads++) {
        const [row] = await store.query(sql`select
          (select n from kept where key = 'snapshot-1'), (select n from kept where key = 'snapshot-2')`)
        assert.equal(row?.[0], row?.[1])
      }
      await Promise.all(writing)
    })

    test('several statements see the snapshot of the first, whatever is written meanwhile', async () => {
      const counts = await store.read(function* () {
        const before = yield* countOf('meanwhile')
        yield* testStore().runElsewhere(put('meanwhile'))
        return [before, yield* countOf('meanwhile')]
      })
      assert.deepEqual(counts, [0, 0])
      // Reads of one turn of the event loop may share their snapshot.
      await setImmediate()
      assert.ok(await has('meanwhile'))
    })

    test('see a write that has resolved, even if others read in the same turn of the event loop', async () => {
      const keys = Array.from({ length: 20 }, (_, at) => `turn-${at}`)
      await Promise.all(
        keys.map(async (key) => {
          assert.equal(await has(key), false)
          await store.write(() => all(put(key)))
          assert.ok(await has(key), key)
        }),
      )
    })

    test('cannot write', async () => {
      await assert.rejects(async () => store.read(() => all(put('from a read'))))
      assert.equal(await has('from a read'), false)
    })

    test('pass on an error of the work, and the store remains usable', async () => {
      const thrown = new Error('thrown by the work')
      const fail = async () =>
        store.read(function* () {
          yield sql`select 1`
          throw thrown
        })
      await assert.rejects(fail, thrown)
      assert.deepEqual(await store.read(() => all(sql`select 1`)), [[1]])
    })
  })

  describe('writes', () => {
    test('are visible to other processes once they have resolved', async () => {
      const other = testStore().open()
      for (let at = 0; at < 20; at++) {
        await store.write(() => all(put(`answered-${at}`)))
        assert.equal((await other.query(sql`select key from kept where key = ${`answered-${at}`}`)).length, 1)
      }
    })

    test('are invisible to others until they are complete', async () => {
      const seen = await store.write(function* () {
        yield put('half-1')
        const rows = yield* testStore().runElsewhere(sql`select count(*) from kept where key like 'half-%'`)
        yield put('half-2')
        return rows
      })
      assert.deepEqual(seen, [[0]])
      assert.ok((await has('half-1')) && (await has('half-2')))
    })

    test('change nothing if they throw', async () => {
      const thrown = new Error('thrown by the work')
      const failing = store.write(function* () {
        yield put('undone')
        throw thrown
      })
      await assert.rejects(failing, thrown)
      assert.equal(await has('undone'), false)
    })

    test('do not affect other writes if they fail before they write anything', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 60 }, (_, at) =>
          store.write(function* () {
            yield sql`select 1`
            if (at % 3 === 1) throw new Error('not allowed')
            yield put(`allowed-${at}`)
          }),
        ),
      )
      for (const [at, { status }] of outcomes.entries()) {
        assert.equal(status, at % 3 === 1 ? 'rejected' : 'fulfilled')
        assert.equal(await has(`allowed-${at}`), at % 3 !== 1)
      }
    })

    test('do not affect other writes if they fail', async () => {
      await store.write(() => all(put('taken')))
      const outcomes = await Promise.allSettled(
        Array.from({ length: 60 }, (_, at) =>
          store.write(function* () {
            yield put(`neighbour-${at}`)
            if (at % 4 === 1) throw new Error(`thrown-${at}`)
            if (at % 4 === 2) yield put('taken')
            if (at % 4 === 3) yield sql`insert into owned (key, owner) values (${`of-${at}`}, 'nobody')`
            return at
          }),
        ),
      )
      for (const [at, outcome] of outcomes.entries()) {
        assert.equal(outcome.status, at % 4 === 0 ? 'fulfilled' : 'rejected')
        if (outcome.status === 'fulfilled') assert.equal(outcome.value, at)
        else if (at % 4 === 1) assert.equal(outcome.reason.message, `thrown-${at}`)
        else assert.ok(isStoreError(at % 4 === 2 ? 'unique' : 'foreign-key')(outcome.reason))
        assert.equal(await has(`neighbour-${at}`), at % 4 === 0)
      }
    })

    test('receive the error of a violated constraint and may throw another error', async () => {
      await store.write(() => all(put('present')))
      const translating = (statement: Sql) =>
        store.write(function* () {
          try {
            yield statement
          } catch (error) {
            throw new Error(error instanceof StoreError ? `translated: ${error.kind}` : 'unexpected')
          }
        })
      const orphan = sql`insert into owned (key, owner) values ('x', 'nobody')`
      await assert.rejects(translating(put('present')), { message: 'translated: unique' })
      await assert.rejects(translating(orphan), { message: 'translated: foreign-key' })
    })

    test('cannot delete a row that other rows refer to', async () => {
      await store.write(function* () {
        yield put('owner')
        yield sql`insert into owned (key, owner) values ('its', 'owner')`
      })
      const removing = store.write(() => all(sql`delete from kept where key = 'owner'`))
      await assert.rejects(removing, isStoreError('foreign-key'))
    })

    test('fail and change nothing if they continue after a violated constraint', async () => {
      await store.write(() => all(put('existing')))
      const continuing = store.write(function* () {
        yield put('before the error')
        try {
          yield put('existing')
        } catch {
          yield put('after the error')
        }
      })
      await assert.rejects(continuing, /continued after/)
      assert.equal((await has('before the error')) || (await has('after the error')), false)
    })

    test('that insert a missing row insert it only once, even if several start together', async () => {
      const stores = Array.from({ length: 8 }, () => testStore().open())
      const insertCounts = await Promise.all(
        stores.map((other, at) =>
          other.write(function* () {
            const existing = yield* first(sql`select a from kept where key = 'inserted once'`)
            if (!existing) yield put('inserted once', `${at}`)
            return existing ? 0 : 1
          }),
        ),
      )
      assert.equal(insertCounts.filter(Boolean).length, 1)
    })

    test('do not start after their deadline', async () => {
      let hasStarted = false
      const late = store.write(function* () {
        hasStarted = true
        yield put('late')
      }, Date.now() - 1)
      await assert.rejects(late, isStoreError('deadline'))
      assert.equal(hasStarted, false)
    })

    test('from several stores on the same data all succeed', async () => {
      await store.write(() => all(sql`insert into kept (key, n) values ('sum', 0)`))
      const stores = [store, testStore().open(), testStore().open()]
      await Promise.all(
        Array.from({ length: 150 }, (_, at) =>
          (stores[at % 3] as Store).write(() => all(sql`update kept set n = n + 1 where key = 'sum'`)),
        ),
      )
      assert.deepEqual(await store.query(sql`select n from kept where key = 'sum'`), [[150]])
    })
  })

  describe('migrations', () => {
    const one: Migration = { name: '0001-one', script: 'create table one (key text primary key);' }
    const two: Migration = { name: '0002-two', script: 'create table two (key text primary key);' }

    test('are applied only once, even if several stores start together', async () => {
      const stores = Array.from({ length: 8 }, () => testStore().open())
      const applied = await Promise.all(stores.map((other) => other.migrate([one])))
      assert.deepEqual(applied.flat(), [one.name])
    })

    test('that fail leave the store unchanged', async () => {
      const broken = { name: '0003-broken', script: 'create table three (key text); create tabel four;' }
      await assert.rejects(store.migrate([one, two, broken]))
      assert.deepEqual(await store.query(sql`select name from migrations`), [[one.name]])
      assert.deepEqual(await store.migrate([one, two]), [two.name])
      assert.deepEqual(await store.migrate([one, two]), [])
    })

    test('of a newer version make an older program refuse the store', async () => {
      await assert.rejects(store.migrate([one]), {
        message:
          /newer version of Stemma: it has unknown migrations \(0002-two\); start that version instead/,
      })
    })
  })

  test('close completes the writes that were accepted', async () => {
    const closing = testStore().open()
    const writes = Array.from({ length: 30 }, (_, at) => closing.write(() => all(put(`closing-${at}`))))
    await Promise.all([...writes, closing.close()])
    for (const at of writes.keys()) assert.ok(await has(`closing-${at}`))
  })
})

const isStorable = (point: number) => point !== 0 && (point < 0xd800 || point > 0xdfff)

function* countOf(key: string): Work<number> {
  const [row] = yield sql`select count(*) from kept where key = ${key}`
  return row?.[0] as number
}
