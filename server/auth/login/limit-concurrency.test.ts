import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ConcurrencyLimits } from './limit-concurrency.ts'
import { limitConcurrency } from './limit-concurrency.ts'

/** Runs an action for each client, and returns in which order they started, and which were refused. */
async function runAll(limits: Omit<ConcurrencyLimits, 'refusal'>, addresses: string[]) {
  const started: string[] = []
  const run = limitConcurrency({ ...limits, refusal: () => new Error('refused') })
  const results = await Promise.allSettled(
    addresses.map((address) =>
      run(address, async () => {
        started.push(address)
        await new Promise(setImmediate)
      }),
    ),
  )
  const refused = addresses.filter((_, at) => results[at]?.status === 'rejected')
  return { started, refused }
}

describe('limited concurrency', () => {
  test('runs two actions at a time, lets three more wait, and refuses further ones', async () => {
    let running = 0
    let mostRunning = 0
    const run = limitConcurrency({ maxRunning: 2, maxWaiting: 3, refusal: () => new Error('refused') })
    const act = (value: number) =>
      run('192.0.2.1', async () => {
        mostRunning = Math.max(mostRunning, ++running)
        await new Promise(setImmediate)
        running--
        if (value % 2 === 1) throw new Error('odd')
        return value
      })
    const results = await Promise.allSettled([0, 1, 2, 3, 4, 5, 6].map(act))
    const outcomes = results.map((result) =>
      result.status === 'fulfilled' ? result.value : result.reason.message,
    )
    assert.deepEqual(outcomes, [0, 'odd', 2, 'odd', 4, 'refused', 'refused'])
    assert.equal(mostRunning, 2)
    assert.equal(await act(8), 8, 'all places are free again')
  })

  test('lets networks take turns, and a network with many subnets gets no more turns than others', async () => {
    const flood = [1, 2, 3].map((count) => `2001:db8:1:${count}::1`)
    const neighbour = '2001:db8:2:1::1'
    const stranger = '198.51.100.2'
    const addresses = [...flood, ...flood, neighbour, stranger]
    const { started, refused } = await runAll({ maxRunning: 1, maxWaiting: 10 }, addresses)
    const [first, second, third] = flood
    assert.deepEqual(started, [first, second, stranger, neighbour, third, first, second, third])
    assert.deepEqual(refused, [])
  })

  test('refuses actions of the network that has the most waiting ones', async () => {
    const flood = [1, 2, 3, 4, 5, 6].map((count) => `2001:db8:1:${count}::1`)
    const neighbour = '2001:db8:2:1::1'
    const stranger = '198.51.100.2'
    const { started, refused } = await runAll({ maxRunning: 1, maxWaiting: 4 }, [
      ...[...flood, neighbour, stranger],
    ])
    assert.deepEqual(refused, [flood[1], flood[2], flood[5]])
    assert.deepEqual(started, [flood[0], flood[3], stranger, neighbour, flood[4]])
  })
})
