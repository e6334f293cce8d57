import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Code } from '../aip/code.ts'
import { openUnsentBudget } from './unsent-budget.ts'

/** A refusal whose message matches. */
const exhausted = (message: RegExp) => ({ code: Code.RESOURCE_EXHAUSTED, message })
const ofCaller = exhausted(/too many of your responses wait/)
const ofOrganization = exhausted(/too many responses to your organization wait/)
const ofNetwork = exhausted(/too many responses to your network wait/)
const ofAll = exhausted(/too many responses wait/)

const organization = 'a'.repeat(40)
const workload = (at: number) => `${organization}/${String(at).padStart(16, '0')}`
const person = (at: number) => String(at).padStart(40, '0')

describe('the budget of unsent bytes', () => {
  const limits = {
    ...{ perCaller: 100, perOrganization: 150 },
    perNetwork: [190, 180, 170],
    perAnonymousNetwork: [90, 80, 70],
    ...{ anonymous: 120, total: 250 },
  } as const
  const open = () => {
    const budget = openUnsentBudget({ limits, isProxy: (address) => address === '10.0.0.1' })
    return (identity: string, bytes: number, address = '') => budget.reserve({ identity, address }, bytes)
  }

  test('limits each caller', () => {
    const reserve = open()
    const release = reserve(person(1), 60)
    assert.throws(() => reserve(person(1), 41), ofCaller)
    reserve(person(1), 40)
    reserve(person(2), 100)
    release()
    reserve(person(1), 60)
    assert.throws(() => reserve(person(1), 1), ofCaller)
  })

  test('before a write, checks only the limits of the client, not that of all clients', () => {
    const budget = openUnsentBudget({ limits })
    const [first, second, third] = [1, 2, 3].map((at) => ({ identity: person(at), address: '' }))
    assert.ok(first && second && third)
    budget.reserve(first, 99)
    budget.requireRoom(first)
    const release = budget.count(first, 2)
    assert.throws(() => budget.requireRoom(first), ofCaller)
    budget.count(second, 149)
    budget.requireRoom(third)
    assert.throws(() => budget.reserve(third, 1), ofAll)
    release()
    budget.requireRoom(first)
  })

  test('limits the callers of each organization together', () => {
    const reserve = open()
    const release = reserve(workload(1), 90)
    reserve(workload(2), 60)
    assert.throws(() => reserve(workload(3), 1), ofOrganization)
    reserve(person(1), 100)
    release()
    reserve(workload(3), 50)
  })

  test('limits the callers of each network together, with a wider network having a higher limit', () => {
    const reserve = open()
    reserve(person(1), 100, '192.0.2.1')
    reserve(person(2), 70, '192.0.2.1')
    assert.throws(() => reserve(person(3), 1, '192.0.2.1'), ofNetwork)
    reserve(person(3), 10, '192.0.2.2')
    assert.throws(() => reserve(person(3), 1, '192.0.2.2'), ofNetwork)
    reserve(person(3), 10, '192.0.3.1')
    assert.throws(() => reserve(person(3), 1, '192.0.3.1'), ofNetwork)
    reserve(person(3), 60, '198.51.100.1')
  })

  test('does not limit the network of a trusted proxy, which all of its clients share', () => {
    const reserve = open()
    for (const at of [1, 2]) reserve(person(at), 100, '10.0.0.1')
    reserve('', 50, '10.0.0.1')
  })

  test('limits anonymous clients by network and together, and apart from authenticated callers', () => {
    const reserve = open()
    reserve('', 70, '192.0.2.1')
    assert.throws(() => reserve('', 1, '192.0.2.1'), ofNetwork)
    reserve('', 50, '198.51.100.1')
    assert.throws(() => reserve('', 1, '203.0.113.1'), ofAll)
    reserve(person(1), 100, '192.0.2.1')
  })

  test('limits all clients together', () => {
    const reserve = open()
    const release = reserve(person(1), 100)
    reserve(person(2), 100)
    reserve(person(3), 50)
    assert.throws(() => reserve(person(4), 1), ofAll)
    release()
    reserve(person(4), 100)
  })

  test('frees a reservation only once, even if it is released twice', () => {
    const reserve = open()
    const release = reserve(person(1), 50)
    reserve(person(1), 50)
    release()
    release()
    assert.throws(() => reserve(person(1), 51), ofCaller)
  })
})
