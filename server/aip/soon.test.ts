import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { attempt, then } from './soon.ts'

describe('what may be there already', () => {
  test('is gone on with at once, or as soon as it is there', async () => {
    assert.equal(
      then(1, (one) => one + 1),
      2,
    )
    assert.equal(await then(Promise.resolve(1), (one) => one + 1), 2)
  })

  test('is gone on with elsewhere if it fails, at once or later', async () => {
    const fail = () => {
      throw new Error('no')
    }
    const told = (error: unknown) => (error as Error).message
    assert.equal(attempt<string>(fail, told), 'no')
    assert.equal(await attempt<string>(async () => fail(), told), 'no')
    assert.equal(
      attempt(() => 'yes', told),
      'yes',
    )
    assert.throws(() => attempt(fail, fail), /no/)
  })
})
