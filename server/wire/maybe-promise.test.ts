import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { andThen, recover } from './maybe-promise.ts'

describe('what may be there already', () => {
  test('is gone on with at once, or as soon as it is there', async () => {
    assert.equal(
      andThen(1, (one) => one + 1),
      2,
    )
    assert.equal(await andThen(Promise.resolve(1), (one) => one + 1), 2)
  })

  test('is gone on with elsewhere if it fails, at once or later', async () => {
    const fail = () => {
      throw new Error('no')
    }
    const told = (error: unknown) => (error as Error).message
    assert.equal(recover<string>(fail, told), 'no')
    assert.equal(await recover<string>(async () => fail(), told), 'no')
    assert.equal(
      recover(() => 'yes', told),
      'yes',
    )
    assert.throws(() => recover(fail, fail), /no/)
  })
})
