import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { isDiskFull, StoreError } from '../store-error.ts'
import { translate } from './errors.ts'

function errorOf(run: () => void): StoreError {
  try {
    run()
  } catch (error) {
    const translated = translate(error)
    assert.ok(translated instanceof StoreError, String(error))
    return translated
  }
  throw new Error('nothing was thrown')
}

test('a full disk makes the store unavailable, and can be told from other causes', () => {
  const db = new DatabaseSync(':memory:')
  db.exec('create table t (a text unique); pragma max_page_count = 5')
  const full = errorOf(() => db.exec(`insert into t values ('${'x'.repeat(100_000)}')`))
  assert.deepEqual([full.kind, isDiskFull(full)], ['unavailable', true])
  assert.equal(isDiskFull(new StoreError('unavailable', full)), true)
  db.exec("insert into t values ('a')")
  const duplicate = errorOf(() => db.exec("insert into t values ('a')"))
  assert.deepEqual([duplicate.kind, isDiskFull(duplicate)], ['unique', false])
  db.close()
})
