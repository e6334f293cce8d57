import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBudget } from './budget.ts'

test('a budget releases requests at its rate, and saves up at most the requests of a tenth of a second', async () => {
  let now = 0
  const budget = openBudget(
    1000,
    () => now,
    async (ms) => {
      now += ms
    },
  )
  const takenIn = async (ms: number) => {
    const end = now + ms
    let taken = 0
    for (; now < end; taken += 10) await budget.take(10)
    return taken
  }
  assert.equal(await takenIn(2000), 2000)
  now += 60_000
  assert.equal(await takenIn(1000), 1100)
})
