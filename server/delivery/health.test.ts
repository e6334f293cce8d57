import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Health } from '../store/delivery/queues.ts'
import { healthAfter, pauseUntilOf } from './health.ts'
import type { AnswerKind } from './judge.ts'

const healthy: Health = { isProven: true, failures: 0, refusals: 0, failingSince: null }

/** The pauses after requests that were sent one after the other, in seconds. */
function pausesAfter(...kinds: AnswerKind[]): number[] {
  let health = healthy
  return kinds.map((kind) => {
    const results = [{ kind, waitMs: 0 }]
    health = healthAfter(health, results, 0)
    return pauseUntilOf(health, results, 0) / 1000
  })
}

const refusals = (count: number) => Array<AnswerKind>(count).fill('refused')
const noPauses = (count: number) => Array<number>(count).fill(0)

describe('the pause of a sink', () => {
  test('grows with each failure', () => {
    const kinds = Array<AnswerKind>(5).fill('unreachable')
    assert.deepEqual(pausesAfter(...kinds), [5, 20, 80, 300, 300])
  })

  test('begins with the tenth refusal in a row, and then grows in the same way', () => {
    assert.deepEqual(pausesAfter(...refusals(14)), [...noPauses(9), 5, 20, 80, 300, 300])
    assert.deepEqual(pausesAfter(...refusals(9), 'delivered', ...refusals(9)), noPauses(19))
  })

  test('is 5 seconds after the first failure, even if the sink has refused some events before', () => {
    assert.deepEqual(pausesAfter(...refusals(3), 'unreachable', 'unreachable'), [...noPauses(3), 5, 20])
  })

  test('is not caused by a refusal after a failure', () => {
    assert.deepEqual(pausesAfter('unreachable', 'refused', 'unreachable'), [5, 0, 20])
  })

  test('is that of one failure if several requests fail at the same time', () => {
    const results = Array.from({ length: 4 }, () => ({ kind: 'unreachable' as const, waitMs: 0 }))
    const health = healthAfter(healthy, results, 0)
    assert.equal(pauseUntilOf(health, results, 0), 5000)
    assert.equal(health.isProven, false)
  })
})
