import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { alternate, median, ratioOf } from './rounds.ts'

describe('rounds', () => {
  test('alternate between both sides, and neither is always first', async () => {
    const order: string[] = []
    const side = (name: string) => async () => order.push(name)
    const samples = await alternate(2, side('ours'), side('baseline'))
    assert.deepEqual(order, ['ours', 'baseline', 'baseline', 'ours'])
    assert.deepEqual(samples, { ours: [1, 4], baseline: [2, 3] })
  })

  test('are summarized by their median', () => {
    assert.equal(median([9, 1, 5]), 5)
    assert.equal(median([4, 1, 2, 9]), 3)
  })

  test('are compared in pairs, so that a slow round does not change the ratio', () => {
    // The ratio of the medians is 1, and that of the sums 17/28.
    assert.equal(ratioOf([10, 6, 1], [20, 6, 2]), 0.5)
  })
})
