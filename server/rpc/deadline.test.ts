import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openDeadlines } from './deadline.ts'

const never = () => new Promise<string>(() => {})

describe('deadlines', () => {
  test('pass on the result of a promise that settles in time', async () => {
    const deadlines = openDeadlines(Date.now)
    assert.equal(await deadlines.enforce(Promise.resolve('result'), deadlines.after(1000)), 'result')
    await assert.rejects(deadlines.enforce(Promise.reject(new Error('no')), deadlines.after(1000)), /no/)
  })

  test('reject each promise at its own deadline', async () => {
    let time = 0
    const deadlines = openDeadlines(() => time)
    const rejected: string[] = []
    const wait = (name: string, deadline: number) =>
      deadlines.enforce(never(), deadline).catch(() => void rejected.push(name))
    const waits = [wait('last', 120), wait('past', -5), wait('first', 10), wait('middle', 60)]
    for (const [at, expected] of [
      [0, ['past']],
      [59, ['past', 'first']],
      [60, ['past', 'first', 'middle']],
      [120, ['past', 'first', 'middle', 'last']],
    ] as const) {
      time = at
      // These timers also keep the process alive. The interval that checks the deadlines does not.
      while (rejected.length < expected.length) await pause(5)
      assert.deepEqual(rejected, expected)
    }
    await Promise.all(waits)
  })

  test('are checked again after a time without calls', async () => {
    const deadlines = openDeadlines(Date.now)
    await deadlines.enforce(Promise.resolve(1), deadlines.after(1000))
    await pause(60)
    const pending = assert.rejects(deadlines.enforce(never(), deadlines.after(10)), /took too long/)
    await pause(60)
    await pending
  })

  test('report how much time is left', () => {
    let time = 1000
    const deadlines = openDeadlines(() => time)
    const deadline = deadlines.after(500)
    time = 1200
    assert.equal(deadlines.msUntil(deadline), 300)
  })
})
