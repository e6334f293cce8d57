import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Code } from '../../aip/code.ts'
import { attemptAll } from '../throttle.ts'
import { attemptsOf, openSignInThrottles } from './sign-in-throttles.ts'

const tooMany = { code: Code.RESOURCE_EXHAUSTED }
const hex = (count: number) => (count + 1).toString(16)

function openAttempts() {
  const throttles = openSignInThrottles(() => 0)
  return (address: string, account?: string) => attemptAll(attemptsOf(throttles, account, address))
}

/** How many of 200 attempts are allowed. */
function countAllowed(attempt: (count: number) => unknown): number {
  let count = 0
  for (let at = 0; at < 200; at++)
    try {
      attempt(at)
      count++
    } catch (error) {
      assert.equal((error as { code?: Code }).code, Code.RESOURCE_EXHAUSTED)
    }
  return count
}

describe('wrong passwords and device codes', () => {
  for (const [where, addressOf, expected] of [
    ['an IPv4 address', () => '192.0.2.1', 10],
    ['an IPv4 /24', (count) => `192.0.2.${count}`, 30],
    ['an IPv4 /16', (count) => `192.0.${count}.1`, 60],
    ['an IPv6 /64', (count) => `2001:db8:1:1::${hex(count)}`, 10],
    ['an IPv6 /48', (count) => `2001:db8:1:${hex(count)}::1`, 30],
    ['an IPv6 /32', (count) => `2001:db8:${hex(count)}::1`, 60],
  ] as [string, (count: number) => string, number][])
    test(`for one account from ${where} do not lock out its owner elsewhere`, () => {
      const attempt = openAttempts()
      assert.equal(
        countAllowed((count) => attempt(addressOf(count), 'ada')),
        expected,
      )
      attempt('203.0.113.9', 'ada')
    })

  test('are limited for an account, wherever they come from', () => {
    const attempt = openAttempts()
    assert.equal(
      countAllowed((count) => attempt(`10.${count}.0.1`, 'ada')),
      100,
    )
    attempt('203.0.113.9', 'bob')
  })

  test('are limited for an address if the account is not known', () => {
    const attempt = openAttempts()
    assert.equal(
      countAllowed(() => attempt('192.0.2.1')),
      50,
    )
  })

  test('that are refused by the limit of the account do not count against the network of its owner', () => {
    let time = 0
    const throttles = openSignInThrottles(() => time)
    const attempt = (address: string) => attemptAll(attemptsOf(throttles, 'ada', address))
    for (let count = 0; count < 100; count++) attempt(`10.${count}.0.1`)
    time = 4 * 60_000
    for (let count = 0; count < 70; count++) assert.throws(() => attempt('203.0.113.9'), tooMany)
    // Now the attacker's failures have expired. If the refused attempts had counted, they would not have expired yet.
    time = 6 * 60_000
    for (let count = 0; count < 10; count++) attempt('203.0.113.9')
    assert.throws(() => attempt('203.0.113.9'), tooMany)
  })
})
