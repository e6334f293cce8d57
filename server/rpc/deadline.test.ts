import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { inTime } from './deadline.ts'

const never = () => new Promise<string>(() => {})

describe('what is waited for', () => {
  test('comes as it is, in time', async () => {
    assert.equal(await inTime(Promise.resolve('here'), Date.now() + 1000), 'here')
    await assert.rejects(inTime(Promise.reject(new Error('no')), Date.now() + 1000), /no/)
  })

  test('is given up at its deadline, one by one', async () => {
    const started = Date.now()
    const ended: string[] = []
    const wait = (name: string, left: number) =>
      inTime(never(), started + left).catch(() => void ended.push(name))
    await Promise.all([wait('past', -5), wait('first', 10), wait('middle', 60), wait('last', 120)])
    assert.deepEqual(ended, ['past', 'first', 'middle', 'last'])
    assert.ok(Date.now() - started >= 120)
  })

  test('is still looked after when there was nothing to wait for', async () => {
    await inTime(Promise.resolve(1), Date.now() + 1000)
    await pause(60)
    await assert.rejects(inTime(never(), Date.now() + 10), /took too long/)
  })
})
