import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Code } from '../aip/code.ts'
import { invalidField, unauthenticated } from '../aip/errors.ts'
import { attemptAll, openThrottle, throttled } from './throttle.ts'

const tooMany = { code: Code.RESOURCE_EXHAUSTED }

describe('throttle', () => {
  test('refuses a key after too many failures, until the period ends', () => {
    let time = 0
    const throttle = openThrottle(2, 1000, () => time)
    throttle.fail('a')
    throttle.require('a')
    throttle.fail('a')
    assert.throws(() => throttle.require('a'), tooMany)
    throttle.require('b')
    time = 1000
    throttle.require('a')
  })

  test('counts attempts as failures until they succeed', () => {
    const throttle = openThrottle(2, 1000, () => 0)
    throttle.attempt('a')
    const takeBack = throttle.attempt('a')
    assert.throws(() => throttle.attempt('a'), tooMany)
    takeBack()
    throttle.attempt('a')
  })

  test('takes back an attempt of an earlier period without a credit for the current one', () => {
    let time = 0
    const throttle = openThrottle(1, 1000, () => time)
    const takeBack = throttle.attempt('a')
    time = 1000
    throttle.fail('a')
    takeBack()
    assert.throws(() => throttle.require('a'), tooMany)
  })

  test('counts the addresses of one IPv6 network together', () => {
    const throttle = openThrottle(1, 1000, () => 0)
    throttle.fail('2001:db8:1:2::1')
    assert.throws(() => throttle.require('2001:db8:1:2:3:4:5:6'), tooMany)
    throttle.require('2001:db8:1:3::1')
  })

  test('still refuses a key after failures of 9,999 other keys', () => {
    const throttle = openThrottle(1, 1000, () => 0)
    throttle.fail('victim')
    for (let count = 1; count < 10_000; count++) throttle.fail(`other ${count}`)
    assert.throws(() => throttle.require('victim'), tooMany)
  })

  test('counts an attempt in several throttles until it succeeds', () => {
    const throttles = [openThrottle(1, 1000, () => 0), openThrottle(1, 1000, () => 0)]
    const succeed = attemptAll(throttles.map((throttle) => [throttle, 'a']))
    for (const throttle of throttles) assert.throws(() => throttle.require('a'), tooMany)
    succeed()
    for (const throttle of throttles) throttle.require('a')
  })

  test('does not count an attempt in any throttle if one of several refuses it', () => {
    const throttles = [openThrottle(1, 1000, () => 0), openThrottle(1, 1000, () => 0)]
    throttles[1]?.fail('a')
    assert.throws(() => attemptAll(throttles.map((throttle) => [throttle, 'a'])), tooMany)
    throttles[0]?.require('a')
  })

  test('counts refusals of an action, and no other errors', async () => {
    const throttle = openThrottle(1, 1000, () => 0)
    const failWith = (error: Error) =>
      throttled(
        throttle,
        () => 'a',
        () => Promise.reject(error),
      )
    await assert.rejects(failWith(invalidField('name', 'is required')))
    throttle.require('a')
    await assert.rejects(failWith(unauthenticated('no')))
    await assert.rejects(failWith(unauthenticated('no')), tooMany)
  })

  test('never refuses an action that succeeds', async () => {
    const throttle = openThrottle(1, 1000, () => 0)
    throttle.fail('a')
    const result = throttled(
      throttle,
      () => 'a',
      async () => 'done',
    )
    assert.equal(await result, 'done')
  })
})
