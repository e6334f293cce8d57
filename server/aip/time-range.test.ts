import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { DurationSchema, EmptySchema, TimestampSchema } from '@bufbuild/protobuf/wkt'
import { isInRange, isTime } from './time-range.ts'

const timestamp = (seconds: bigint, nanos = 0) => isInRange(create(TimestampSchema, { seconds, nanos }))
const duration = (seconds: bigint, nanos = 0) => isInRange(create(DurationSchema, { seconds, nanos }))
const secondsOf = (date: string) => BigInt(Date.parse(date) / 1000)

describe('a time', () => {
  test('is a timestamp or a duration', () => {
    assert.equal(isTime(create(TimestampSchema)), true)
    assert.equal(isTime(create(DurationSchema)), true)
    assert.equal(isTime(create(EmptySchema)), false)
  })

  test('as a timestamp is from year 1 to year 9999', () => {
    assert.equal(timestamp(secondsOf('0001-01-01T00:00:00Z')), true)
    assert.equal(timestamp(secondsOf('0001-01-01T00:00:00Z') - 1n), false)
    assert.equal(timestamp(secondsOf('9999-12-31T23:59:59Z'), 999_999_999), true)
    assert.equal(timestamp(secondsOf('9999-12-31T23:59:59Z') + 1n), false)
    assert.equal(timestamp(2n ** 63n - 1n), false)
    assert.equal(timestamp(0n, -1), false)
    assert.equal(timestamp(0n, 1_000_000_000), false)
  })

  test('as a duration is at most 10,000 years, with parts of the same sign', () => {
    assert.equal(duration(315_576_000_000n), true)
    assert.equal(duration(315_576_000_001n), false)
    assert.equal(duration(-315_576_000_000n), true)
    assert.equal(duration(-315_576_000_001n), false)
    assert.equal(duration(0n, -999_999_999), true)
    assert.equal(duration(-1n, -1), true)
    assert.equal(duration(1n, -1), false)
    assert.equal(duration(-1n, 1), false)
    assert.equal(duration(0n, 1_000_000_000), false)
  })
})
