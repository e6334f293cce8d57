import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Store } from './db.ts'
import { bulkInsert, raw, sql } from './sql.ts'
import { StoreError } from './store-error.ts'
import { isStoreError, onEach } from './test-stores.ts'
import { together } from './together.ts'
import type { Work } from './work.ts'
import { all } from './work.ts'

onEach(['SQLite', 'PostgreSQL'], 'works that run together', (testStore) => {
  let store: Store
  before(async () => {
    store = testStore().open()
    await store.write(() => all(raw('create table notes (text text primary key)')))
  })

  const insert = (text: string) => sql`insert into notes (text) values (${text})`
  function* has(text: string): Work<boolean> {
    return (yield sql`select 1 from notes where text = ${text}`).length > 0
  }

  test('return their results in their order, even if they take different numbers of statements', async () => {
    function* countTo(last: number): Work<number> {
      for (let number = 1; number <= last; number++) yield sql`select ${number}`
      return last
    }
    const inner = () => together(countTo(1), countTo(4))
    function* twice<A, B>(first: () => Work<A>, second: () => Work<B>): Work<[A, B]> {
      return [yield* first(), yield* second()]
    }
    for (const run of [store.read, store.write]) {
      assert.deepEqual(await run(() => together(countTo(3), inner(), countTo(0))), [3, [1, 4], 0])
      assert.deepEqual(await run(() => together(twice(together, inner), countTo(2))), [[[], [1, 4]], 2])
      assert.deepEqual(await run(() => together()), [])
    }
  })

  test('see what works before them have changed in the same round', async () => {
    const rows = Array.from({ length: 1201 }, (_, at) => [`row ${at}`])
    const results = await store.write(() =>
      together(
        has('seen'),
        all(insert('seen')),
        together(has('seen'), all(bulkInsert(raw('insert into notes (text)'), rows))),
        has('row 1200'),
      ),
    )
    assert.deepEqual(results, [false, [], [true, []], true])
  })

  test('get the error of their own statement, and can replace it', async () => {
    await store.write(() => all(insert('taken')))
    function* insertTaken(): Work<void> {
      try {
        yield insert('taken')
      } catch (error) {
        assert.ok(isStoreError('unique')(error))
        throw new Error('the note exists')
      }
    }
    function* insertOther(): Work<void> {
      try {
        yield insert('other')
      } catch {
        assert.fail('this statement has not failed')
      }
    }
    const works: (() => Work<unknown>)[] = [
      () => together(insertOther(), insertTaken()),
      () => together(insertTaken(), insertOther()),
      () => together(insertOther(), together(insertTaken(), has('anything'))),
      () => together(together(insertOther(), insertTaken()), together(has('anything')), has('anything')),
    ]
    for (const work of works) await assert.rejects(store.write(work), /^Error: the note exists$/)
    assert.equal(await store.read(() => has('other')), false)
  })

  test('cannot continue after the error of a statement', async () => {
    function* ignoreError(): Work<void> {
      try {
        yield insert('taken twice')
      } catch (error) {
        assert.ok(error instanceof StoreError)
      }
      yield insert('after the error')
    }
    const both = () => together(all(insert('taken twice')), ignoreError())
    await assert.rejects(store.write(both), /continued after one of its statements had failed/)
    assert.equal(await store.read(() => has('after the error')), false)
  })
})
