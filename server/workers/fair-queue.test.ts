import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Code } from '../aip/code.ts'
import { openFairQueue } from './fair-queue.ts'

const notLate = () => false
const partyOf = (group: string) => ({ group, member: group, weight: 1 })

/** A task that ends when `end` is called. */
function controlledTask(name: string, started: string[]) {
  const { promise, resolve } = Promise.withResolvers<string>()
  const run = () => {
    started.push(name)
    return promise
  }
  return { run, end: () => resolve(name) }
}

describe('a fair queue', () => {
  test('lets parties take turns', async () => {
    const queue = openFairQueue({ maxRunning: 1, maxWaitingPerGroup: 10, maxWaiting: 10 })
    const started: string[] = []
    const names = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']
    const tasks = names.map((name) => controlledTask(name, started))
    const results = tasks.map(({ run }, at) => queue.run(partyOf(names[at]?.[0] ?? ''), run, notLate))
    assert.deepEqual(started, ['a1'])
    for (const task of tasks) task.end()
    await Promise.all(results)
    assert.deepEqual(started, ['a1', 'b1', 'c1', 'b2', 'a2', 'a3'])
  })

  test('refuses a task if its party or the whole queue has too many waiting tasks', async () => {
    const queue = openFairQueue({ maxRunning: 1, maxWaitingPerGroup: 2, maxWaiting: 3 })
    const { run, end } = controlledTask('x', [])
    const runAsA = () => queue.run(partyOf('a'), run, notLate)
    const accepted = [runAsA(), runAsA(), runAsA()]
    await assert.rejects(runAsA(), /RESOURCE_EXHAUSTED|too many expensive calls/)
    accepted.push(queue.run(partyOf('b'), run, notLate))
    await assert.rejects(queue.run(partyOf('c'), run, notLate), /too many expensive calls/)
    end()
    assert.deepEqual(await Promise.all(accepted), ['x', 'x', 'x', 'x'])
    assert.equal(await runAsA(), 'x')
  })

  test('drops a task whose caller no longer waits when its turn comes', async () => {
    const queue = openFairQueue({ maxRunning: 1, maxWaitingPerGroup: 2, maxWaiting: 3 })
    const started: string[] = []
    const first = controlledTask('first', started)
    const running = queue.run(partyOf('a'), first.run, notLate)
    const dropped = queue.run(partyOf('a'), controlledTask('dropped', started).run, () => true)
    first.end()
    await running
    await assert.rejects(dropped, { code: Code.DEADLINE_EXCEEDED })
    assert.deepEqual(started, ['first'])
  })

  test('goes on after a task has failed', async () => {
    const queue = openFairQueue({ maxRunning: 1, maxWaitingPerGroup: 2, maxWaiting: 3 })
    const failed = queue.run(partyOf('a'), () => Promise.reject(new Error('broken')), notLate)
    const next = queue.run(partyOf('a'), async () => 'done', notLate)
    await assert.rejects(failed, /broken/)
    assert.equal(await next, 'done')
  })
})
