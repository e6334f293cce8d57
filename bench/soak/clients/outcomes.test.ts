import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openOutcomes, percentile } from './outcomes.ts'

describe('the outcomes of a client', () => {
  test('have percentiles that are not interpolated: each is one of the measured values', () => {
    const hundred = Array.from({ length: 100 }, (_, at) => at + 1)
    assert.deepEqual(
      [percentile(hundred, 0.5), percentile(hundred, 0.99), percentile(hundred, 1)],
      [50, 99, 100],
    )
    assert.equal(percentile([7], 0.99), 7)
    assert.ok(Number.isNaN(percentile([], 0.5)))
  })

  test('count errors by their text, with a limited number of texts', () => {
    const outcomes = openOutcomes()
    for (let at = 0; at < 12; at++) outcomes.onError(`error ${at}`)
    outcomes.onError('error 3')
    const { errors } = outcomes.summary()
    assert.equal(outcomes.errorCount(), 13)
    assert.equal(errors['error 3'], 2)
    assert.equal(errors['further errors'], 2)
    assert.equal(Object.keys(errors).length, 11)
  })
})
