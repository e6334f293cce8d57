import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { WaitingCalls } from './waiting-calls.ts'
import { openWaitingCalls } from './waiting-calls.ts'

/** Takes calls and charges each for 1 ms. */
const takeCalls = <Call>(waiting: WaitingCalls<Call>, count: number) =>
  Array.from({ length: count }, () => {
    const call = waiting.take()
    waiting.charge(1)
    return call
  })

const member = (group: string, name = 'only') => ({ group, member: name, weight: 1 })

describe('waiting calls', () => {
  test('are taken from the group that has used the least time', () => {
    const waiting = openWaitingCalls<{ name: string; time: number }>(0)
    for (let at = 0; at < 100; at++) {
      waiting.add(member('costly'), { name: 'costly', time: 4 })
      waiting.add(member('cheap'), { name: 'cheap', time: 1 })
    }
    const used: Record<string, number> = { costly: 0, cheap: 0 }
    for (let at = 0; at < 100; at++) {
      const call = waiting.take()
      assert.ok(call)
      used[call.name] = (used[call.name] ?? 0) + call.time
      waiting.charge(call.time)
      assert.ok(Math.abs((used.costly ?? 0) - (used.cheap ?? 0)) <= 4, JSON.stringify(used))
    }
    assert.equal(waiting.count(), 100)
  })

  test('of a group with more weight get more time', () => {
    const waiting = openWaitingCalls<string>(0)
    for (let at = 0; at < 90; at++) {
      waiting.add({ ...member('heavy'), weight: 8 }, 'heavy')
      waiting.add(member('light'), 'light')
    }
    const taken = takeCalls(waiting, 90)
    assert.equal(taken.filter((name) => name === 'heavy').length, 80)
  })

  test('of a new group come next, but the group has no saved time', () => {
    const waiting = openWaitingCalls<string>(1000)
    for (let at = 0; at < 100; at++) waiting.add(member('flood'), 'flood')
    takeCalls(waiting, 50)
    for (let at = 0; at < 10; at++) waiting.add(member('late'), 'late')
    const next = takeCalls(waiting, 6)
    assert.ok(next.slice(0, 2).includes('late'), next.join())
    assert.equal(next.filter((name) => name === 'late').length, 3)
  })

  test('of a group that has used less than its share go first until it has used the time that it has saved', () => {
    const [saved, weight] = [3, 2]
    const waiting = openWaitingCalls<string>(saved)
    const modest = { ...member('modest'), weight }
    waiting.add(modest, 'modest')
    for (let at = 0; at < 200; at++) waiting.add(member('flood'), 'flood')
    takeCalls(waiting, 100)
    for (let round = 0; round < 2; round++) {
      for (let at = 0; at < 30; at++) waiting.add(modest, 'modest')
      const next = takeCalls(waiting, 30)
      const first = round === 0 ? saved * weight : 0
      assert.deepEqual(next.slice(0, first), Array<string>(first).fill('modest'))
      // Afterwards they share: two calls of the group with weight 2, then one of the other.
      const modestCount = next.slice(first).filter((name) => name === 'modest').length
      assert.ok(Math.abs(modestCount - ((30 - first) * 2) / 3) <= 1, next.join())
    }
  })

  test('of a group that has used more time go behind those of others, even if it was idle in between', () => {
    const waiting = openWaitingCalls<string>(0)
    waiting.add(member('costly'), 'costly')
    waiting.add(member('other'), 'other')
    assert.equal(waiting.take(), 'costly')
    waiting.charge(100)
    waiting.add(member('costly'), 'costly again')
    for (const name of ['other', 'other again']) {
      if (name === 'other again') waiting.add(member('other'), name)
      assert.equal(waiting.take(), name)
      waiting.charge(1)
    }
    assert.equal(waiting.take(), 'costly again')
  })

  test('of a group that is charged later go behind those of others, whether the group has waiting calls or not', () => {
    for (const isWaiting of [true, false]) {
      const waiting = openWaitingCalls<string>(0)
      waiting.add(member('costly'), 'costly')
      assert.equal(waiting.take(), 'costly')
      waiting.charge(1)
      for (let at = 0; at < 5; at++) waiting.add(member('other'), 'other')
      if (isWaiting) waiting.add(member('costly'), 'costly again')
      waiting.chargeLater(member('costly'), 3)
      if (!isWaiting) waiting.add(member('costly'), 'costly again')
      const order = takeCalls(waiting, 6)
      assert.equal(order.indexOf('costly again'), 4, order.join())
    }
  })

  test('of the members of a group take turns', () => {
    const waiting = openWaitingCalls<string>(0)
    for (const call of ['a1', 'a2', 'a3']) waiting.add(member('group', 'a'), call)
    for (const call of ['b1', 'b2']) waiting.add(member('group', 'b'), call)
    const order = takeCalls(waiting, 6)
    assert.deepEqual(order, ['a1', 'b1', 'a2', 'b2', 'a3', undefined])
  })
})
