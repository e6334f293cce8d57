import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { LimitError } from './limit-error.ts'
import type { Pool, PoolOptions } from './pool.ts'
import { openPool } from './pool.ts'

/** Answers with the id of its thread, or does what the task says. */
const program = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, threadId } from 'node:worker_threads'
    parentPort.on('message', (task) => {
      if (task === 'spin') for (;;);
      if (task === 'hoard') for (const all = []; ; ) all.push(new Array(10_000).fill(all.length))
      if (task === 'throw') throw new Error('a bug')
      if (task === 'exit') process.exit(3)
      if (task === 'rest') setTimeout(() => parentPort.postMessage('rested'), 1500)
      else if (task !== 'never') parentPort.postMessage(threadId)
    })`)}`,
)

const pools: Pool[] = []
const open = (options: Partial<PoolOptions> = {}) => {
  const pool = openPool({
    ...{ program, maxThreads: 2, maxWaiting: 4, maxPerOwner: 4, timeLimitMs: 60_000, maxHeapMb: 32 },
    idleMs: 3_600_000,
    ...options,
  })
  pools.push(pool)
  return pool
}

const isLimit = (reason: LimitError['reason']) => (error: unknown) =>
  error instanceof LimitError && error.reason === reason

describe('a pool of threads', () => {
  after(() => Promise.all(pools.map((pool) => pool.close())))

  test('reuses its threads, and has at most `maxThreads`', async () => {
    const pool = open()
    const first = await pool.run('id', 'ada')
    assert.equal(await pool.run('id', 'ada'), first)
    const ids = await Promise.all(Array.from({ length: 4 }, (_, at) => pool.run('id', `owner ${at}`)))
    assert.ok(new Set(ids).size <= 2)
  })

  test('ends a thread that has been idle for some time, and starts another for the next task', async () => {
    const pool = open({ maxThreads: 1, idleMs: 1 })
    const first = await pool.run('id', 'ada')
    let next = first
    while (next === first) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      next = await pool.run('id', 'ada')
    }
  })

  test('leaves the event loop free, and runs tasks of other owners, while a task runs forever', async () => {
    const pool = open()
    let isOver = false
    const endless = pool.run('spin', 'mallory').finally(() => {
      isOver = true
    })
    for (let count = 0; count < 20; count++) await pool.run('id', 'ada')
    assert.equal(isOver, false)
    const ended = assert.rejects(endless, isLimit('closed'))
    await pool.close()
    await ended
  })

  test('ends a task that exceeds its time or its memory, and replaces the thread', async () => {
    const pool = open({ maxThreads: 1, timeLimitMs: 1 })
    await assert.rejects(pool.run('spin', 'mallory'), isLimit('exceeded'))
    const withLongTimeLimit = open({ maxThreads: 1 })
    const first = await withLongTimeLimit.run('id', 'ada')
    await assert.rejects(withLongTimeLimit.run('hoard', 'mallory'), isLimit('exceeded'))
    assert.notEqual(await withLongTimeLimit.run('id', 'ada'), first)
  })

  test('ends a task that uses processor time for too long, but not one that gets little', async () => {
    const pool = open({ maxThreads: 1, timeLimitMs: 1000, measureIntervalMs: 100 })
    await pool.run('id', 'ada')
    assert.equal(await pool.run('rest', 'ada'), 'rested')
    await assert.rejects(pool.run('spin', 'mallory'), isLimit('exceeded'))
  })

  test('ends a task that never ends, even if it uses no processor time', async () => {
    const pool = open({ maxThreads: 1, timeLimitMs: 1500 })
    await assert.rejects(pool.run('never', 'mallory'), isLimit('exceeded'))
  })

  test('reports a thread that fails or exits, and replaces it', async () => {
    const pool = open({ maxThreads: 1 })
    await assert.rejects(pool.run('throw', 'ada'), /a bug/)
    await assert.rejects(pool.run('exit', 'ada'), /ended unexpectedly/)
    assert.ok(await pool.run('id', 'ada'))
  })

  test('refuses a task if too many tasks wait, or if its owner has too many', async () => {
    const pool = open({ maxThreads: 1, maxWaiting: 3, maxPerOwner: 2 })
    const tasks = [pool.run('never', 'mallory'), pool.run('never', 'mallory')]
    await assert.rejects(pool.run('id', 'mallory'), isLimit('too-many'))
    tasks.push(pool.run('id', 'ada'), pool.run('id', 'bob'))
    await assert.rejects(pool.run('id', 'carol'), isLimit('too-many'))
    const results = Promise.allSettled(tasks)
    await pool.close()
    assert.deepEqual(
      (await results).map(({ status }) => status),
      tasks.map(() => 'rejected'),
    )
    await assert.rejects(pool.run('id', 'ada'), isLimit('closed'))
  })

  test('counts an owner’s tasks only until they end', async () => {
    const pool = open({ maxPerOwner: 1 })
    for (let count = 0; count < 3; count++) await pool.run('id', 'ada')
    await assert.rejects(pool.run('throw', 'ada'))
    assert.ok(await pool.run('id', 'ada'))
  })
})
