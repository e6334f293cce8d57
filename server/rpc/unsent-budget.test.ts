import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Code } from '../aip/code.ts'
import { openUnsentBudget } from './unsent-budget.ts'

const exhausted = { code: Code.RESOURCE_EXHAUSTED }

describe('the budget of unsent bytes', () => {
  const limits = { perCaller: 100, total: 250 }

  test('limits each caller', () => {
    const { reserve } = openUnsentBudget(limits)
    const release = reserve('a', 60)
    assert.throws(() => reserve('a', 41), exhausted)
    reserve('a', 40)
    reserve('b', 100)
    release()
    reserve('a', 60)
    assert.throws(() => reserve('a', 1), exhausted)
  })

  test('limits all callers together', () => {
    const { reserve } = openUnsentBudget(limits)
    const release = reserve('a', 100)
    reserve('b', 100)
    reserve('c', 50)
    assert.throws(() => reserve('d', 1), exhausted)
    release()
    reserve('d', 100)
  })

  test('frees a reservation only once, even if it is released twice', () => {
    const { reserve } = openUnsentBudget(limits)
    const release = reserve('a', 50)
    reserve('a', 50)
    release()
    release()
    assert.throws(() => reserve('a', 51), exhausted)
  })
})
