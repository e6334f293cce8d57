import assert from 'node:assert/strict'
import { test } from 'node:test'
import { relativeTime } from './relative-time.ts'

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

test('a time is given in the largest unit of which there is at least one, after rounding', () => {
  const texts: [number, string][] = [
    [59_999, 'just now'],
    [minute, '1 minute ago'],
    [59.4 * minute, '59 minutes ago'],
    [59.6 * minute, '1 hour ago'],
    [23.4 * hour, '23 hours ago'],
    [23.6 * hour, 'yesterday'],
    [29.4 * day, '29 days ago'],
    [29.6 * day, 'last month'],
    [11.4 * 30 * day, '11 months ago'],
    [11.6 * 30 * day, 'last year'],
    [730 * day, '2 years ago'],
  ]
  for (const [age, text] of texts) assert.equal(relativeTime(0, age), text)
})

test('a time in the future is given in the same way', () => {
  assert.equal(relativeTime(1, 0), 'in a moment')
  assert.equal(relativeTime(59.6 * minute, 0), 'in 1 hour')
  assert.equal(relativeTime(23.6 * hour, 0), 'tomorrow')
})
