import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Measured } from './report.ts'
import { linesOf } from './report.ts'

const summary = { calls: 100, p50: 1, p99: 2, lateP99: 0, errors: {} }
const met: Measured = {
  ...{ capacity: 1000, attackSeconds: 10, idle: { get: summary }, idleMemory: 100e6 },
  attacked: { get: { ...summary, p99: 10 } },
  attacks: { flood: { sent: 20_000, statuses: {} } },
  memory: { current: 100e6, peak: 400e6 },
  loopDelay: { idle: { p50: 0, p99: 1, max: 2 }, attacked: { p50: 3, p99: 4, max: 5 } },
}
const missed = (measured: Measured) =>
  linesOf(measured)
    .filter(({ isMet }) => isMet === false)
    .map(({ label }) => label)

test('a run that just reaches every goal misses none', () => {
  assert.deepEqual(missed(met), [])
})

test('errors, slow calls, much memory and too few attacks are each reported', () => {
  const failing = { ...summary, p99: 10.1, errors: { 'HTTP 429': 1 } }
  assert.deepEqual(
    missed({
      ...met,
      attacked: { get: failing },
      attacks: { flood: { sent: 19_999, statuses: {} } },
      memory: { current: 1, peak: 401e6 },
    }),
    ['get, p99', 'errors under attack', 'attack rate compared with capacity', 'peak memory'],
  )
})

test('a client that got no response at all misses its goal', () => {
  assert.ok(missed({ ...met, attacked: { get: { ...summary, p99: Number.NaN } } }).includes('get, p99'))
})
