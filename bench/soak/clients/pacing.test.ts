import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pace } from './pacing.ts'

test('after a delay, all overdue calls are sent at once, each with its intended time', async () => {
  let now = 0
  const clock = {
    now: () => now,
    until: async (time: number) => {
      now = Math.max(now, time)
    },
  }
  const sent: [intended: number, at: number][] = []
  await pace({ start: 5, perSecond: 100, isOver: () => sent.length === 5 }, clock, (intended) => {
    sent.push([intended, now])
    if (sent.length === 2) now += 25
  })
  assert.deepEqual(sent, [
    [5, 5],
    [15, 15],
    [25, 40],
    [35, 40],
    [45, 45],
  ])
})
