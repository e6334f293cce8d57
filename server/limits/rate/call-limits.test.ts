import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DescMethod } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { Code } from '../../aip/code.ts'
import { StatusError } from '../../aip/errors.ts'
import type { CallLimitOptions, Rates } from './call-limits.ts'
import { openCallLimits } from './call-limits.ts'
import { costClasses, costClassOf } from './cost-class.ts'
import type { Meter } from './meter.ts'
import type { ScopeName } from './rate-refusal.ts'

const { getGroup, listGroups, createGroup } = GroupsService.method
const classOf = (method: DescMethod) => costClasses.indexOf(costClassOf(describeMethod(method)))
const get = classOf(getGroup)
const list = classOf(listGroups)
const create = classOf(createGroup)
const register = classOf(Auth.method.register)

const organization = 'a'.repeat(40)
const other = 'b'.repeat(40)
const identityOf = (root: string, at: number) => `${root}/${at.toString(16).padStart(16, '0')}`

const unlimited = { caller: 0, organization: 0, address: 0 }

function prepareLimits(rates: Partial<Record<keyof Rates, Partial<Record<ScopeName, number>>>>) {
  let now = 1000
  const all = (['read', 'list', 'write', 'exchange', 'sign-in'] as const).map((name) => [
    name,
    { ...unlimited, ...rates[name] },
  ])
  const options = { maxRunning: 0, isProxy: (address: string) => address === '10.0.0.1', clock: () => now }
  return {
    open(overrides: Partial<CallLimitOptions> = {}) {
      const opened = openCallLimits({ rates: Object.fromEntries(all) as Rates, ...options, ...overrides })
      const { arrive, enter, leave, fieldsOf } = opened.calls
      const calls = {
        arrive: (costClass: number, address: string) => arrive(costClass, address, now),
        enter: (costClass: number, identity: string, network: Meter | undefined) =>
          enter(costClass, identity, network, now),
        fieldsOf: (costClass: number, caller: Meter | undefined, network: Meter | undefined) =>
          fieldsOf(costClass, caller, network, now),
        leave,
      }
      return { calls, signIn: opened.signIn }
    },
    advanceClock(ms: number) {
      now += ms
    },
  }
}

type TestLimits = ReturnType<ReturnType<typeof prepareLimits>['open']>

/** Makes calls one after the other, each of which ends at once. Returns how many were admitted. */
function admitted(
  { calls }: TestLimits,
  count: number,
  { identity = identityOf(organization, 1), address = '192.0.2.1', costClass = get } = {},
): number {
  let total = 0
  for (let at = 0; at < count; at++)
    try {
      calls.leave(calls.enter(costClass, identity, calls.arrive(costClass, address)))
      total++
    } catch (error) {
      assert.ok(error instanceof StatusError)
      assert.equal(error.code, Code.RESOURCE_EXHAUSTED)
    }
  return total
}

function refusalOf(action: () => unknown): StatusError {
  try {
    action()
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error))
    return error
  }
  return assert.fail('the call was admitted')
}

describe('rate limits', () => {
  test('count each caller separately', () => {
    const limits = prepareLimits({ read: { caller: 1 } }).open()
    assert.equal(admitted(limits, 50), 10)
    assert.equal(admitted(limits, 50, { identity: identityOf(organization, 2) }), 10)
  })

  test('count all workloads of an organization together, and those of others separately', () => {
    const limits = prepareLimits({ read: { organization: 1 } }).open()
    assert.equal(admitted(limits, 6), 6)
    assert.equal(admitted(limits, 6, { identity: identityOf(organization, 2) }), 4)
    assert.equal(admitted(limits, 6, { identity: identityOf(other, 2) }), 6)
  })

  test('do not count calls of people against the limit of any organization', () => {
    const limits = prepareLimits({ read: { organization: 1 } }).open()
    assert.equal(admitted(limits, 50, { identity: 'c'.repeat(40) }), 50)
  })

  test('count all addresses of an IPv6 /64 together, and IPv4 addresses separately', () => {
    const limits = prepareLimits({ read: { address: 1 } }).open()
    let total = 0
    for (let at = 0; at < 50; at++) total += admitted(limits, 1, { address: `2001:db8::${at.toString(16)}` })
    assert.equal(total, 10)
    assert.equal(admitted(limits, 50, { address: '2001:db8:0:1::1' }), 10)
    assert.equal(admitted(limits, 50, { address: '192.0.2.2' }), 10)
    assert.equal(admitted(limits, 50, { address: '::ffff:192.0.2.2' }), 0)
  })

  test('do not count calls from a trusted proxy or from an unknown address', () => {
    const limits = prepareLimits({ read: { address: 1 } }).open()
    assert.equal(admitted(limits, 50, { address: '10.0.0.1' }), 50)
    assert.equal(admitted(limits, 50, { address: '' }), 50)
  })

  test('count each cost class separately', () => {
    const limits = prepareLimits({ read: { caller: 1 }, list: { caller: 2 } }).open()
    assert.equal(admitted(limits, 50, { costClass: get }), 10)
    assert.equal(admitted(limits, 50, { costClass: list }), 20)
    assert.equal(admitted(limits, 50, { costClass: create }), 50)
  })

  test('admit calls again as time passes', () => {
    const prepared = prepareLimits({ read: { caller: 10 } })
    const limits = prepared.open()
    assert.equal(admitted(limits, 200), 100)
    prepared.advanceClock(500)
    assert.equal(admitted(limits, 200), 5)
    prepared.advanceClock(3_600_000)
    assert.equal(admitted(limits, 200), 100)
  })

  test('do not count a call for the organization if the limit of the caller refuses it, and vice versa', () => {
    const prepared = prepareLimits({ read: { caller: 1, organization: 2 } })
    const limits = prepared.open()
    assert.equal(admitted(limits, 500), 10)
    assert.equal(admitted(limits, 5, { identity: identityOf(organization, 2) }), 5)
    assert.equal(admitted(limits, 50, { identity: identityOf(organization, 3) }), 5)
    prepared.advanceClock(5000)
    assert.equal(admitted(limits, 50, { identity: identityOf(organization, 3) }), 10)
  })

  test('do not count a call for the address if the limit of the caller refuses it', () => {
    const limits = prepareLimits({ read: { caller: 1, address: 10 } }).open()
    assert.equal(admitted(limits, 10_000), 10)
    assert.equal(admitted(limits, 90, { identity: identityOf(other, 1) }), 10)
    for (let at = 1; at <= 8; at++)
      assert.equal(admitted(limits, 10, { identity: identityOf(other, at + 1) }), 10)
    assert.equal(admitted(limits, 10, { identity: identityOf(other, 99) }), 0)
  })

  test('count calls without a caller by address alone', () => {
    const { calls } = prepareLimits({ 'sign-in': { address: 1 } }).open()
    for (let at = 0; at < 10; at++) calls.arrive(register, '192.0.2.1')
    assert.throws(() => calls.arrive(register, '192.0.2.1'))
  })

  test('count sign-in requests by address, and token exchanges by identity and organization', () => {
    const { signIn } = prepareLimits({
      'sign-in': { address: 1 },
      exchange: { caller: 1, organization: 2 },
    }).open()
    for (let at = 0; at < 10; at++) signIn.request('192.0.2.1')
    assert.throws(() => signIn.request('192.0.2.1'))
    for (const at of [1, 2])
      for (let times = 0; times < 10; times++) signIn.exchange(identityOf(organization, at))
    assert.throws(() => signIn.exchange(identityOf(organization, 3)))
    signIn.exchange(identityOf(other, 3))
  })
})

describe('a call over the limit', () => {
  test('is told when to try again, whose limit it is and what the limit is', () => {
    const limits = prepareLimits({ read: { caller: 0.5 } }).open()
    const identity = identityOf(organization, 1)
    assert.equal(admitted(limits, 5), 5)
    const error = refusalOf(() => limits.calls.enter(get, identity, undefined))
    assert.equal(error.http, 429)
    assert.match(error.message, /too many read calls of this caller; try again in 2 seconds/)
    assert.deepEqual(error.details, [
      { type: 'RetryInfo', fields: { retryDelay: '2s' } },
      {
        type: 'QuotaFailure',
        fields: {
          violations: [
            {
              subject: `caller:${identity}`,
              description: 'read calls are limited to 0.5 a second, after a burst of 5',
            },
          ],
        },
      },
    ])
    assert.deepEqual(error.headers, {
      'retry-after': '2',
      'ratelimit-policy': '"read-caller";q=5;w=10',
      ratelimit: '"read-caller";r=0;t=2',
    })
  })

  test('gets the same error object as the previous call, so that the error is rendered once', () => {
    const limits = prepareLimits({ read: { address: 1 } }).open()
    admitted(limits, 10)
    const errors = [1, 2].map(() => refusalOf(() => limits.calls.arrive(get, '192.0.2.1')))
    assert.equal(errors[0], errors[1])
    assert.ok(errors[0]?.isConstant)
  })
})

describe('the RateLimit fields', () => {
  test('are absent while half of each bucket is left, then describe the bucket with the least left', () => {
    const prepared = prepareLimits({ read: { caller: 1, organization: 3, address: 100 } })
    const { calls } = prepared.open()
    const identity = identityOf(organization, 1)
    const fields: (string | undefined)[] = []
    for (let at = 0; at < 10; at++) {
      const network = calls.arrive(get, '192.0.2.1')
      const caller = calls.enter(get, identity, network)
      fields.push(calls.fieldsOf(get, caller, network)?.ratelimit)
      calls.leave(caller)
    }
    assert.deepEqual(fields, [
      ...Array<undefined>(5).fill(undefined),
      ...[4, 3, 2, 1].map((left) => `"read-caller";r=${left};t=${10 - left}`),
      // No call is left: the time until the next one, as in the refusal that would follow.
      '"read-caller";r=0;t=1',
    ])
    for (const at of [2, 3])
      for (let count = 0; count < 7; count++) calls.enter(get, identityOf(organization, at), undefined)
    const caller = calls.enter(get, identityOf(organization, 4), undefined)
    assert.equal(calls.fieldsOf(get, caller, undefined)?.ratelimit, '"read-organization";r=5;t=9')
    assert.equal(
      calls.fieldsOf(get, caller, undefined)?.['ratelimit-policy'],
      '"read-organization";q=30;w=10',
    )
  })
})

describe('the calls of a caller that run at the same time', () => {
  test('are limited in number, and one that ends makes room for another', () => {
    const { calls } = prepareLimits({ read: { address: 1 } }).open({ maxRunning: 3 })
    const identity = identityOf(organization, 1)
    const network = calls.arrive(get, '192.0.2.1')
    const running = [1, 2, 3].map(() => calls.enter(get, identity, undefined))
    const error = refusalOf(() => calls.enter(get, identity, network))
    assert.equal(error.code, Code.RESOURCE_EXHAUSTED)
    assert.match(error.message, /at most 3 of your calls may run at a time/)
    assert.equal(error.headers['retry-after'], '1')
    calls.leave(calls.enter(get, identityOf(organization, 2), undefined))
    calls.leave(running[0])
    calls.leave(calls.enter(get, identity, undefined))
    assert.equal(calls.enter(list, identity, undefined)?.running, 3)
  })
})

/** Calls of further networks, which fill the table of networks. */
function flood(limits: TestLimits, networks: number, callsEach = 1, first = 0): void {
  for (let at = first; at < first + networks; at++)
    for (let times = 0; times < callsEach; times++)
      limits.calls.arrive(get, `2001:db8:${(at >> 16).toString(16)}:${(at & 0xffff).toString(16)}::1`)
}

describe('an attacker with many networks', () => {
  test('cannot reset a spent bucket: a full table first forgets the buckets that are hardly used', () => {
    const limits = prepareLimits({ read: { address: 1 } }).open({ maxMeters: 100 })
    assert.equal(admitted(limits, 50), 10)
    flood(limits, 10_000)
    assert.equal(admitted(limits, 50), 0)
  })

  test('cannot reset a spent bucket by using up other buckets, if these fill less than half of the table', () => {
    const limits = prepareLimits({ read: { address: 1 } }).open({ maxMeters: 100 })
    assert.equal(admitted(limits, 50), 10)
    flood(limits, 40, 10)
    flood(limits, 1000, 1, 40)
    assert.equal(admitted(limits, 50), 0)
  })

  test('does not cause calls of other networks to be refused', () => {
    const limits = prepareLimits({ read: { address: 1 } }).open({ maxMeters: 100 })
    flood(limits, 10_000, 10)
    assert.equal(admitted(limits, 10), 10)
  })
})

describe('an attacker with many identities', () => {
  test('is stopped by the limit of the organization, however many identities it uses', () => {
    const limits = prepareLimits({ read: { caller: 1, organization: 5 } }).open({ maxMeters: 100 })
    let total = 0
    for (let at = 0; at < 1000; at++) total += admitted(limits, 5, { identity: identityOf(organization, at) })
    assert.equal(total, 50)
    assert.equal(admitted(limits, 5, { identity: identityOf(other, 1) }), 5)
  })

  test('cannot make the server forget the running calls of a caller', () => {
    const limits = prepareLimits({ read: { caller: 1 } }).open({ maxMeters: 100, maxRunning: 1 })
    const identity = identityOf(organization, 1)
    limits.calls.enter(get, identity, undefined)
    for (let at = 0; at < 1000; at++) admitted(limits, 10, { identity: identityOf(other, at) })
    assert.throws(() => limits.calls.enter(get, identity, undefined), /run at a time/)
  })
})
