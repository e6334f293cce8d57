import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { andThen, recover } from './maybe-promise.ts'

describe('a value or a promise', () => {
  test('is passed on immediately, or when the promise resolves', async () => {
    assert.equal(
      andThen(1, (value) => value + 1),
      2,
    )
    assert.equal(await andThen(Promise.resolve(1), (value) => value + 1), 2)
  })

  test('is replaced by the recovery if it throws or rejects', async () => {
    const fail = () => {
      throw new Error('no')
    }
    const messageOf = (error: unknown) => (error as Error).message
    assert.equal(recover<string>(fail, messageOf), 'no')
    assert.equal(await recover<string>(async () => fail(), messageOf), 'no')
    assert.equal(
      recover(() => 'yes', messageOf),
      'yes',
    )
    assert.throws(() => recover(fail, fail), /no/)
  })
})
