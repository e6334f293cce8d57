import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inTurns, median, ratioOf } from './rounds.ts'

describe('rounds', () => {
  test('take both sides in turns, and neither always first', async () => {
    const order: string[] = []
    const side = (name: string) => async () => order.push(name)
    const taken = await inTurns(2, side('ours'), side('bound'))
    assert.deepEqual(order, ['ours', 'bound', 'bound', 'ours'])
    assert.deepEqual(taken, { ours: [1, 4], bound: [2, 3] })
  })

  test('take the middle of what was measured', () => {
    assert.equal(median([9, 1, 5]), 5)
    assert.equal(median([4, 1, 2, 9]), 3)
  })

  test('compare turn by turn, so that a slow turn slows both sides', () => {
    assert.equal(ratioOf([10, 5, 1], [20, 10, 2]), 0.5)
  })
})
