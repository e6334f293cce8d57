import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { BroadcastChannel } from 'node:worker_threads'
import fc from 'fast-check'
import type { CallLimitOptions } from '../rate/call-limits.ts'
import { openCallLimits } from '../rate/call-limits.ts'
import { costClasses } from '../rate/cost-class.ts'
import type { Usage } from './shared-usage.ts'
import { openThreadExchange } from './threads.ts'

const read = costClasses.indexOf('read')
const none = { caller: 0, organization: 0, address: 0 }
const off = { read: none, list: none, write: none, exchange: none, 'sign-in': none }
const identity = `${'a'.repeat(40)}/${'1'.repeat(16)}`

/**
 * Copies that report the numbers of their admitted calls to each other when the test says so, and a caller that calls
 * any of them.
 */
function openTestCopies(count: number, rates: Partial<typeof none>) {
  let now = 0
  const options: CallLimitOptions = {
    rates: { ...off, read: { ...none, ...rates } },
    ...{ maxRunning: 0, isProxy: () => false, clock: () => now },
  }
  const copies = Array.from({ length: count }, () => openCallLimits(options))
  for (const { shared } of copies) shared.setCopies(count)

  function exchange(): Usage[][] {
    const usages = copies.map(({ shared }) => shared.takeUsage())
    for (const [at, { shared }] of copies.entries())
      for (const [from, usage] of usages.entries()) if (from !== at) shared.addUsage(usage)
    return usages
  }

  return {
    exchange,
    /** How many of these calls a copy admits. */
    call(copy: number, calls: number, caller = identity): number {
      const { calls: limits } = copies[copy] ?? assert.fail('no such copy')
      let admitted = 0
      for (let at = 0; at < calls; at++)
        try {
          limits.leave(limits.enter(read, caller, undefined, now))
          admitted++
        } catch {
          return admitted
        }
      return admitted
    },
    /** Moves the clock by a second and exchanges usage. */
    tick() {
      now += 1000
      exchange()
    },
  }
}

describe('a limit that copies share', () => {
  test('admits at most twice as much as one copy would, however calls are spread', () => {
    const spread = fc.array(fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 8, maxLength: 8 }), {
      minLength: 1,
      maxLength: 60,
    })
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), spread, (count, seconds) => {
        const copies = openTestCopies(count, { caller: 20 })
        let admitted = 0
        for (const [second, calls] of seconds.entries()) {
          for (let copy = 0; copy < count; copy++) admitted += copies.call(copy, calls[copy] ?? 0)
          const allowed = 200 + 20 * second
          assert.ok(admitted <= 2 * allowed, `${admitted} of ${allowed} after ${second} seconds`)
          copies.tick()
        }
      }),
    )
  })

  test('admits in the long run what one copy would, if a caller calls all copies all the time', () => {
    for (const count of [2, 3, 8]) {
      const copies = openTestCopies(count, { caller: 20 })
      let admitted = 0
      for (let second = 0; second < 200; second++) {
        for (let copy = 0; copy < count; copy++) admitted += copies.call(copy, 1000)
        copies.tick()
      }
      const allowed = 200 + 20 * 200
      assert.ok(
        admitted > 0.9 * allowed && admitted < 1.2 * allowed,
        `${count} copies: ${admitted} of ${allowed}`,
      )
    }
  })

  test('admits a caller that stays on one copy at its full rate', () => {
    const copies = openTestCopies(8, { caller: 20 })
    let admitted = 0
    for (let second = 0; second < 60; second++) {
      admitted += copies.call(0, 1000)
      copies.tick()
    }
    assert.ok(admitted > 0.9 * (200 + 20 * 60), String(admitted))
    assert.ok(admitted <= 200 + 20 * 60, String(admitted))
  })

  test('counts calls for the organization, even if the copy first learned of the caller from another copy', () => {
    const copies = openTestCopies(2, { caller: 1000, organization: 20 })
    const caller = (at: number) => `${'a'.repeat(40)}/${at.toString(16).padStart(16, '0')}`
    assert.equal(copies.call(0, 150, caller(1)), 150)
    copies.exchange()
    assert.equal(copies.call(1, 150, caller(1)), 50)
    assert.equal(copies.call(1, 150, caller(2)), 0)
  })

  test('reports the calls of a caller to other copies only when there are enough of them', () => {
    const copies = openTestCopies(2, { caller: 20 })
    copies.call(0, 9)
    assert.deepEqual(copies.exchange(), [[], []])
    copies.call(0, 1)
    assert.deepEqual(copies.exchange(), [[['caller', 'read', identity, 10]], []])
    assert.deepEqual(copies.exchange(), [[], []])
  })

  test('reports a bounded number of callers at a time, and the rest the next time', () => {
    const copies = openTestCopies(2, { caller: 2 })
    for (let at = 0; at < 1500; at++)
      copies.call(0, 2, `${'b'.repeat(40)}/${at.toString(16).padStart(16, '0')}`)
    assert.deepEqual(
      [copies.exchange()[0]?.length, copies.exchange()[0]?.length, copies.exchange()[0]?.length],
      [1000, 500, 0],
    )
  })
})

describe('threads', () => {
  test('learn of the calls of each other over a channel', async () => {
    const name = `test-${randomUUID()}`
    const open = () => {
      const limits = openCallLimits({
        rates: { ...off, read: { ...none, caller: 20 } },
        ...{ maxRunning: 0, isProxy: () => false, clock: () => 0 },
      })
      const channel = new BroadcastChannel(name)
      const exchange = openThreadExchange({ channel, limits: limits.shared, count: 2 })
      return { ...limits, channel, exchange }
    }
    const [first, second] = [open(), open()]
    const addUsage = second.channel.onmessage
    const received = new Promise<void>((resolve) => {
      second.channel.onmessage = (event) => {
        addUsage(event)
        resolve()
      }
    })
    second.channel.ref()
    for (let calls = 0; calls < 100; calls++) first.calls.enter(read, identity, undefined, 0)
    await first.exchange.exchange()
    await received
    let admitted = 0
    assert.throws(() => {
      for (; ; admitted++) second.calls.enter(read, identity, undefined, 0)
    })
    assert.equal(admitted, 100)
    for (const { exchange } of [first, second]) await exchange.leave()
  })
})
