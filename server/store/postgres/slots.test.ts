import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openParties } from '../../fair-queueing/parties.ts'
import { isStoreError } from '../test-stores.ts'
import { maxWaiting, openSlots } from './slots.ts'

const timeoutMs = 20_000

/** One slot, and a clock that the tests set. A task ends when it is ended, and its name is added to `started`. */
function openTestSlots() {
  let time = 0
  const { runFor, current } = openParties()
  const slots = openSlots({ count: 1, timeoutMs, currentParty: current, clock: () => time })
  const started: string[] = []
  const ends: (() => void)[] = []
  const run = (group: string) =>
    runFor(
      () => ({ group, member: group, weight: 1 }),
      () =>
        slots.run(() => {
          started.push(group)
          return new Promise<void>((resolve) => ends.push(resolve))
        }),
    )
  /** Ends the running task after this time. */
  const end = async (duration = 1) => {
    time += duration
    ends.shift()?.()
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return { started, run, end }
}

describe('connections in use', () => {
  test('are given to waiting parties in turn', async () => {
    const { started, run, end } = openTestSlots()
    const tasks = ['first', 'flood', 'flood', 'flood', 'flood', 'other', 'other'].map(run)
    assert.deepEqual(started, ['first'])
    for (const _ of tasks) await end()
    await Promise.all(tasks)
    assert.deepEqual(started, ['first', 'flood', 'other', 'flood', 'other', 'flood', 'flood'])
  })

  test('are given to the party that has used them for the least time', async () => {
    const { started, run, end } = openTestSlots()
    const tasks = ['first', 'slow', 'quick', ...Array(6).fill('slow'), ...Array(6).fill('quick')].map(run)
    await end()
    for (let ended = 1; ended < tasks.length; ended++) await end(started.at(-1) === 'slow' ? 10 : 2)
    await Promise.all(tasks)
    // A slow task is charged as much as five quick ones.
    assert.deepEqual(started.slice(1, 9), [
      ...['slow', 'quick', 'quick', 'quick', 'quick', 'quick'],
      'slow',
      'quick',
    ])
  })

  test('are charged for at most 50 ms, so a pause of the database hardly delays the next calls of a party', async () => {
    const { started, run, end } = openTestSlots()
    const tasks = ['first', 'paused', 'paused', ...Array(10).fill('other')].map(run)
    await end()
    for (let ended = 1; ended < tasks.length; ended++) await end(started.length === 2 ? 5_000 : 10)
    await Promise.all(tasks)
    assert.equal(started.lastIndexOf('paused'), 7)
  })

  test('are given to the next call if a task fails', async () => {
    const slots = openSlots({
      ...{ count: 1, timeoutMs, clock: () => 0 },
      currentParty: () => ({ group: '', member: '', weight: 1 }),
    })
    const failing = slots.run(() => Promise.reject(new Error('failed')))
    const failingLater = slots.run(() => Promise.reject(new Error('failed later')))
    const next = slots.run(async () => 'ran')
    await assert.rejects(failing, /failed/)
    await assert.rejects(failingLater, /failed later/)
    assert.equal(await next, 'ran')
    assert.equal(await slots.run(async () => 'ran at once'), 'ran at once')
  })
})

describe('a call that waits for a connection', () => {
  test('fails after the timeout, and the next one gets the connection', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { started, run, end } = openTestSlots()
    const running = run('first')
    const late = run('late')
    t.mock.timers.tick(timeoutMs - 1)
    const next = run('next')
    t.mock.timers.tick(1)
    await assert.rejects(late, isStoreError('unavailable'))
    await end()
    await end()
    await Promise.all([running, next])
    assert.deepEqual(started, ['first', 'next'])
  })

  test('fails at once if too many calls of its party wait, but calls of other parties wait', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { run } = openTestSlots()
    void run('first')
    const flood = Array.from({ length: maxWaiting.perWeight }, () => run('flood'))
    const results = Promise.allSettled([...flood, run('other')])
    await assert.rejects(run('flood'), isStoreError('unavailable'))
    t.mock.timers.tick(timeoutMs)
    assert.equal((await results).length, maxWaiting.perWeight + 1)
  })

  test('is not locked out by parties who together have as many waiting calls as are allowed', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { run } = openTestSlots()
    void run('first')
    const { perWeight, total, ofGroupWhenFull } = maxWaiting
    const accepted = Array.from({ length: total }, (_, at) => run(`flood ${Math.floor(at / perWeight)}`))
    for (let at = 0; at < ofGroupWhenFull; at++) accepted.push(run('other'))
    const results = Promise.allSettled(accepted)
    await assert.rejects(run('other'), isStoreError('unavailable'))
    await assert.rejects(run('flood 1'), isStoreError('unavailable'))
    t.mock.timers.tick(timeoutMs)
    assert.equal((await results).length, total + ofGroupWhenFull)
  })
})
