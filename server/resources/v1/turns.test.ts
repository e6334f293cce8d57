import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openTurns } from './turns.ts'

test('of several lists that wait for a turn, one continues in each turn of the event loop, in order', async () => {
  const waitForTurn = openTurns()
  const continued: number[] = []
  const waiting = [1, 2, 3].map(async (list) => {
    for (let page = 0; page < 2; page++) {
      await waitForTurn()
      continued.push(list)
    }
  })
  for (let turn = 0, before = 0; continued.length < 6 && turn < 100; turn++) {
    await nextTurn()
    assert.ok(continued.length - before <= 1, 'two lists continued in one turn')
    before = continued.length
  }
  await Promise.all(waiting)
  assert.deepEqual(continued, [1, 2, 3, 1, 2, 3])
})
