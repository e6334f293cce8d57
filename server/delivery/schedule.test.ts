import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pauseAfter, retryAfterMs, retryDelay } from './schedule.ts'

const least = () => Buffer.alloc(4, 0)
const most = () => Buffer.alloc(4, 0xff)
const hour = 3_600_000

describe('the schedule of a delivery', () => {
  test('retries after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, and then every 20 h', () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1000].map((failures) => retryDelay(failures, least) / 1000)
    assert.deepEqual(delays, [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 72_000, 72_000])
  })

  test('makes delays up to a tenth longer', () => {
    assert.equal(retryDelay(4, most), 7_920_000)
  })

  test('leaves a failing sink alone for at most 5 minutes', () => {
    assert.deepEqual([0, 1, 2, 3, 4, 1e9].map(pauseAfter), [0, 5000, 20_000, 80_000, 300_000, 300_000])
  })

  test('reads Retry-After as seconds or as a date, and waits at most a day', () => {
    const now = Date.parse('2026-01-01T00:00:00Z')
    assert.equal(retryAfterMs('120', now), 120_000)
    assert.equal(retryAfterMs('Thu, 01 Jan 2026 00:01:00 GMT', now), 60_000)
    assert.equal(retryAfterMs('Thu, 01 Jan 1970 00:00:00 GMT', now), 0)
    for (const absurd of ['999999999999999', 'Fri, 31 Dec 9999 23:59:59 GMT'])
      assert.equal(retryAfterMs(absurd, now), 24 * hour)
    for (const invalid of [undefined, '', '-5', '1e3', 'soon', '9'.repeat(400)])
      assert.equal(retryAfterMs(invalid, now), 0, invalid)
  })
})
