import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitConcurrency } from './limit-concurrency.ts'

test('runs two calls at a time, lets three more wait, and refuses further calls', async () => {
  let running = 0
  let mostRunning = 0
  const limited = limitConcurrency(
    async (value: number) => {
      mostRunning = Math.max(mostRunning, ++running)
      await new Promise(setImmediate)
      running--
      if (value % 2 === 1) throw new Error('odd')
      return value
    },
    { maxRunning: 2, maxWaiting: 3, refusal: () => new Error('refused') },
  )
  const results = await Promise.allSettled([0, 1, 2, 3, 4, 5, 6].map(limited))
  const outcomes = results.map((result) =>
    result.status === 'fulfilled' ? result.value : result.reason.message,
  )
  assert.deepEqual(outcomes, [0, 'odd', 2, 'odd', 4, 'refused', 'refused'])
  assert.equal(mostRunning, 2)
  assert.equal(await limited(8), 8, 'all places are free again')
})
