import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { StatusError } from '../aip/errors.ts'
import { openBodyBudget } from './body-budget.ts'

const mebibyte = 2 ** 20
const isRefused = (error: unknown) =>
  error instanceof StatusError && /too many large manifests/.test(error.message)

describe('the budget of bodies', () => {
  test('limits the bytes of one network and of all, until they are given back', () => {
    const { reserve } = openBodyBudget({ network: 4 * mebibyte, total: 6 * mebibyte })
    const release = reserve('192.0.2.1', 4 * mebibyte)
    assert.throws(() => reserve('192.0.2.1', mebibyte), isRefused)
    reserve('192.0.2.2', 2 * mebibyte)
    assert.throws(() => reserve('192.0.2.3', mebibyte), isRefused)
    release()
    reserve('192.0.2.1', 4 * mebibyte)
  })

  test('does not count small bodies', () => {
    const { reserve } = openBodyBudget({ network: 0, total: 0 })
    reserve('192.0.2.1', 64 * 1024)
    assert.throws(() => reserve('192.0.2.1', 64 * 1024 + 1), isRefused)
  })
})
