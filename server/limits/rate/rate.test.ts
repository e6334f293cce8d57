import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  admitsCall,
  after,
  burstSeconds,
  callsLeft,
  rateOf,
  secondsUntilCall,
  secondsUntilFull,
} from './rate.ts'

/** A bucket. Tests pass it the time, in milliseconds. */
function openBucket(perSecond: number) {
  const rate = rateOf(perSecond)
  assert.ok(rate)
  let fullAt = 0
  return {
    rate,
    call(now: number): boolean {
      if (!admitsCall(fullAt, rate, now)) return false
      fullAt = after(fullAt, 1, rate, now)
      return true
    },
    left: (now: number) => callsLeft(fullAt, rate, now),
    untilCall: (now: number) => secondsUntilCall(fullAt, rate, now),
    untilFull: (now: number) => secondsUntilFull(fullAt, now),
  }
}

const perSecond = fc.integer({ min: 1, max: 3_000_000 }).map((thousandths) => thousandths / 1000)
const pausesMs = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 0, max: 30_000, noNaN: true })), {
  maxLength: 200,
})

describe('a bucket', () => {
  test('never admits more than its burst plus its rate times the elapsed time', () => {
    fc.assert(
      fc.property(perSecond, fc.integer({ min: 0, max: 1e9 }), pausesMs, (calls, start, pauses) => {
        const bucket = openBucket(calls)
        let now = start
        let admitted = 0
        for (const pause of pauses) {
          now += pause
          if (bucket.call(now)) admitted++
          const allowed = bucket.rate.burst + (calls * (now - start)) / 1000
          assert.ok(admitted <= allowed + 0.01, `${admitted} of ${allowed}`)
        }
      }),
    )
  })

  test('admits its whole burst at once, then its rate', () => {
    for (const calls of [0.05, 0.3, 1, 3, 7, 333, 2000]) {
      const bucket = openBucket(calls)
      const burst = Math.max(1, Math.floor(calls * burstSeconds))
      const start = 123_456_789.123
      for (let count = 0; count < burst; count++) assert.ok(bucket.call(start), `${calls}: call ${count}`)
      assert.equal(bucket.call(start), false)
      let later = 0
      for (let ms = 0; ms <= 60_000; ms += 10) while (bucket.call(start + ms)) later++
      assert.ok(Math.abs(later - calls * 60) <= 1, `${calls}: ${later} in a minute`)
    }
  })

  test('admits a caller that stays within the rate, whenever its calls come', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 300 }), (jitters) => {
        const bucket = openBucket(10)
        for (const [at, jitter] of jitters.entries()) assert.ok(bucket.call(1000 + at * 100 + jitter))
      }),
    )
  })

  test('says how many calls are left and when there are more', () => {
    const bucket = openBucket(2)
    assert.equal(bucket.left(0), 20)
    for (let count = 0; count < 15; count++) bucket.call(0)
    assert.equal(bucket.left(0), 5)
    assert.equal(bucket.untilFull(0), 8)
    for (let count = 0; count < 5; count++) bucket.call(0)
    assert.equal(bucket.left(0), 0)
    assert.equal(bucket.untilCall(0), 1)
    assert.ok(
      bucket.call(bucket.untilCall(0) * 1000),
      'a client that waits as long as it is told is admitted',
    )
  })

  test('whose burst would be less than one call admits one call, then says how long to wait', () => {
    const bucket = openBucket(0.02)
    assert.ok(bucket.call(0))
    assert.equal(bucket.call(0), false)
    assert.equal(bucket.untilCall(0), 50)
    assert.equal(bucket.call(49_000), false)
    assert.ok(bucket.call(50_000))
  })

  test('does not exist for a rate of 0', () => {
    assert.equal(rateOf(0), undefined)
  })
})
