// What every store does, whichever engine it stands on.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { isStoreError, onEach } from './conformance.ts'
import type { Migration, Store } from './db.ts'
import type { Row, Sql, Value } from './sql.ts'
import { raw, sql } from './sql.ts'
import { StoreError } from './store-error.ts'
import type { Work } from './work.ts'
import { all, first } from './work.ts'

onEach(['SQLite', 'PostgreSQL'], 'a store', (place) => {
  let store: Store
  before(async () => {
    store = place().open()
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

    test('text comes back with every character of Unicode but NUL', async () => {
      for (let plane = 0; plane < 17; plane++) {
        const points = Array.from({ length: 0x10000 }, (_, at) => plane * 0x10000 + at)
        const text = points.filter(isStorable).map((point) => String.fromCodePoint(point))
        assert.equal((await roundTrip(text.join(''), null, null))[0], text.join(''))
      }
    })

    test('any text comes back as it was', async () => {
      const text = fc.string({ unit: 'binary' }).map((some) => some.replaceAll('\0', ''))
      await fc.assert(
        fc.asyncProperty(text, async (a) => assert.equal((await roundTrip(a, null, null))[0], a)),
        { numRuns: 20 },
      )
    })

    test('bytes come back as they were, part of a larger buffer too', async () => {
      const every = Uint8Array.from({ length: 256 }, (_, at) => at)
      for (const bytes of [every, every.subarray(7, 200), new Uint8Array()]) {
        assert.deepEqual([...((await roundTrip(null, bytes, null))[1] as Uint8Array)], [...bytes])
      }
    })

    test('whole numbers come back up to 2^53 - 1', async () => {
      for (const n of [0, -1, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
        assert.equal((await roundTrip(null, null, n))[2], n)
      }
    })

    test('null comes back as null', async () => {
      assert.deepEqual(await roundTrip(null, null, null), [null, null, null])
    })

    test('no text is taken for SQL', async () => {
      const text = `'; drop table kept; -- $1 ? /*pg x */`
      assert.equal((await roundTrip(text, null, null))[0], text)
    })
  })

  describe('reading', () => {
    test('one statement sees one moment', async () => {
      await store.write(() => all(sql`insert into kept (key, n) values ('moment-1', 0), ('moment-2', 0)`))
      const writing = Array.from({ length: 20 }, () =>
        store.write(() => all(sql`update kept set n = n + 1 where key in ('moment-1', 'moment-2')`)),
      )
      for (let reads = 0; reads < 20; reads++) {
        const [row] = await store.query(sql`select
          (select n from kept where key = 'moment-1'), (select n from kept where key = 'moment-2')`)
        assert.equal(row?.[0], row?.[1])
      }
      await Promise.all(writing)
    })

    test('several statements see the moment of the first, whatever is written meanwhile', async () => {
      const counts = await store.read(function* () {
        const before = yield* countOf('meanwhile')
        yield* place().elsewhere(put('meanwhile'))
        return [before, yield* countOf('meanwhile')]
      })
      assert.deepEqual(counts, [0, 0])
      // Reads of one turn of the loop may share their moment.
      await setImmediate()
      assert.ok(await has('meanwhile'))
    })

    test('what was written here is seen at once, though others were read in the same turn', async () => {
      const keys = Array.from({ length: 20 }, (_, at) => `turn-${at}`)
      await Promise.all(
        keys.map(async (key) => {
          assert.equal(await has(key), false)
          await store.write(() => all(put(key)))
          assert.ok(await has(key), key)
        }),
      )
    })

    test('what reads cannot write', async () => {
      await assert.rejects(async () => store.read(() => all(put('from a read'))))
      assert.equal(await has('from a read'), false)
    })

    test('an error of the work reaches the reader, and the store goes on', async () => {
      const thrown = new Error('of the work')
      const fail = async () =>
        store.read(function* () {
          yield sql`select 1`
          throw thrown
        })
      await assert.rejects(fail, thrown)
      assert.deepEqual(await store.read(() => all(sql`select 1`)), [[1]])
    })
  })

  describe('writing', () => {
    test('what was answered is there for every other opening', async () => {
      const other = place().open()
      for (let at = 0; at < 20; at++) {
        await store.write(() => all(put(`answered-${at}`)))
        assert.equal((await other.query(sql`select key from kept where key = ${`answered-${at}`}`)).length, 1)
      }
    })

    test('nobody sees half of a write', async () => {
      const seen = await store.write(function* () {
        yield put('half-1')
        const counted = place().elsewhere(sql`select count(*) from kept where key like 'half-%'`)
        const rows = yield* counted
        yield put('half-2')
        return rows
      })
      assert.deepEqual(seen, [[0]])
      assert.ok((await has('half-1')) && (await has('half-2')))
    })

    test('a write that throws leaves nothing', async () => {
      const thrown = new Error('of the work')
      const failing = store.write(function* () {
        yield put('undone')
        throw thrown
      })
      await assert.rejects(failing, thrown)
      assert.equal(await has('undone'), false)
    })

    test('a write that fails before it writes anything does its neighbours no harm', async () => {
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

    test('a write that fails does its neighbours no harm', async () => {
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

    test('a broken constraint reaches the work, which may put it into other words', async () => {
      await store.write(() => all(put('present')))
      const inWords = (statement: Sql) =>
        store.write(function* () {
          try {
            yield statement
          } catch (error) {
            throw new Error(error instanceof StoreError ? `in words: ${error.kind}` : 'unforeseen')
          }
        })
      const orphan = sql`insert into owned (key, owner) values ('x', 'nobody')`
      await assert.rejects(inWords(put('present')), { message: 'in words: unique' })
      await assert.rejects(inWords(orphan), { message: 'in words: foreign-key' })
    })

    test('what others rely on cannot be removed', async () => {
      await store.write(function* () {
        yield put('owner')
        yield sql`insert into owned (key, owner) values ('its', 'owner')`
      })
      const removing = store.write(() => all(sql`delete from kept where key = 'owner'`))
      await assert.rejects(removing, isStoreError('foreign-key'))
    })

    test('a work that goes on after a broken constraint is refused, and leaves nothing', async () => {
      await store.write(() => all(put('stumbling block')))
      const stubborn = store.write(function* () {
        yield put('before the fall')
        try {
          yield put('stumbling block')
        } catch {
          yield put('after the fall')
        }
      })
      await assert.rejects(stubborn, /continued after/)
      assert.equal((await has('before the fall')) || (await has('after the fall')), false)
    })

    test('those who look first and then make what is missing agree, however many start together', async () => {
      const stores = Array.from({ length: 8 }, () => place().open())
      const made = await Promise.all(
        stores.map((other, at) =>
          other.write(function* () {
            const known = yield* first(sql`select a from kept where key = 'one of us'`)
            if (!known) yield put('one of us', `${at}`)
            return known ? 0 : 1
          }),
        ),
      )
      assert.equal(made.filter(Boolean).length, 1)
    })

    test('nothing is begun after its deadline', async () => {
      let isBegun = false
      const late = store.write(function* () {
        isBegun = true
        yield put('late')
      }, Date.now() - 1)
      await assert.rejects(late, isStoreError('deadline'))
      assert.equal(isBegun, false)
    })

    test('many writes from several openings all arrive', async () => {
      await store.write(() => all(sql`insert into kept (key, n) values ('sum', 0)`))
      const stores = [store, place().open(), place().open()]
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

    test('are applied once, however many openings start together', async () => {
      const stores = Array.from({ length: 8 }, () => place().open())
      const applied = await Promise.all(stores.map((other) => other.migrate([one])))
      assert.deepEqual(applied.flat(), [one.name])
    })

    test('that fail leave the store as it was', async () => {
      const broken = { name: '0003-broken', script: 'create table three (key text); create tabel four;' }
      await assert.rejects(store.migrate([one, two, broken]))
      assert.deepEqual(await store.query(sql`select name from migrations`), [[one.name]])
      assert.deepEqual(await store.migrate([one, two]), [two.name])
      assert.deepEqual(await store.migrate([one, two]), [])
    })

    test('of a newer version keep an older one out', async () => {
      await assert.rejects(store.migrate([one]), {
        message: /newer version of Stemma: it has 0002-two; start that version instead/,
      })
    })
  })

  test('a store that is closed has finished what it was given', async () => {
    const closing = place().open()
    const writes = Array.from({ length: 30 }, (_, at) => closing.write(() => all(put(`closing-${at}`))))
    const settled = Promise.allSettled(writes)
    await closing.close()
    for (const [at, { status }] of (await settled).entries()) {
      assert.equal(await has(`closing-${at}`), status === 'fulfilled')
    }
  })
})

const isStorable = (point: number) => point !== 0 && (point < 0xd800 || point > 0xdfff)

function* countOf(key: string): Work<number> {
  const [row] = yield sql`select count(*) from kept where key = ${key}`
  return row?.[0] as number
}
