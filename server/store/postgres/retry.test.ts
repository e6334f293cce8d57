import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { StoreError } from '../store-error.ts'
import { isStoreError } from '../test-stores.ts'
import { retry } from './retry.ts'

/** A clock that only advances while it sleeps, and records for how long. */
function fakeClock() {
  let time = 0
  const sleeps: number[] = []
  const clock = {
    now: () => time,
    random: () => 0.5,
    block: () => assert.fail('blocked the thread'),
    async sleep(milliseconds: number) {
      sleeps.push(milliseconds)
      time += milliseconds
    },
  }
  return { clock, sleeps }
}

const conflict = Object.assign(new Error('conflict'), { code: '40001' })
const connectionLost = Object.assign(new Error('lost'), { code: 'ECONNRESET' })
const never = Number.POSITIVE_INFINITY

describe('retry', () => {
  test('waits twice as long after every attempt, and stops after five attempts', async () => {
    const { clock, sleeps } = fakeClock()
    const failing = retry(clock, never, () => Promise.reject(conflict))
    await assert.rejects(failing, isStoreError('unavailable'))
    assert.deepEqual(sleeps, [10, 20, 40, 80])
  })

  test('starts no attempt after the deadline', async () => {
    const { clock, sleeps } = fakeClock()
    const failing = retry(clock, 25, () => Promise.reject(conflict))
    await assert.rejects(failing, isStoreError('deadline'))
    assert.deepEqual(sleeps, [10, 20])
  })

  test('does not repeat a commit whose connection was lost', async () => {
    const { clock, sleeps } = fakeClock()
    const committing = retry(clock, never, (state) => {
      state.isCommitting = true
      return Promise.reject(connectionLost)
    })
    await assert.rejects(committing, isStoreError('unavailable'))
    assert.deepEqual(sleeps, [])
  })

  test('treats a host that cannot be reached as unavailable', async () => {
    for (const code of ['EHOSTUNREACH', 'ENETUNREACH']) {
      const { clock } = fakeClock()
      const failing = retry(clock, never, () => Promise.reject(Object.assign(new Error('x'), { code })))
      await assert.rejects(failing, isStoreError('unavailable'))
    }
  })

  test('retries once after a unique violation, and not after a violated foreign key', async () => {
    for (const [kind, sleepCount] of [['unique', 1] as const, ['foreign-key', 0] as const]) {
      const { clock, sleeps } = fakeClock()
      const failing = retry(clock, never, () => Promise.reject(new StoreError(kind)))
      await assert.rejects(failing, isStoreError(kind))
      assert.equal(sleeps.length, sleepCount)
    }
  })
})
