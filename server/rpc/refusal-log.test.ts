import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, mock, test } from 'node:test'
import { logTo } from '../log.ts'
import type { RefusalLogOptions } from './refusal-log.ts'
import { openRefusalLog } from './refusal-log.ts'

const periodMs = 1000

describe('the log of refusals', () => {
  let written: { network: string; counts: Record<string, number> }[] = []
  beforeEach(() => {
    written = []
    mock.timers.enable({ apis: ['setTimeout'] })
  })
  afterEach(() => mock.timers.reset())

  const open = (options: Partial<RefusalLogOptions> = {}) =>
    openRefusalLog(logTo({ write: (line) => written.push(JSON.parse(line)) }, 'info'), {
      ...{ maxLines: 2, periodMs },
      ...options,
    })
  const countAdmitted = (
    refusals: ReturnType<typeof open>,
    addresses: readonly string[],
    code = 'NOT_FOUND',
  ) => addresses.filter((address) => refusals.admit(address, code)).length

  test('limits the lines for each network in a period, and counts its further refusals in one line', () => {
    const refusals = open()
    assert.equal(countAdmitted(refusals, Array(5).fill('192.0.2.1')), 2)
    assert.equal(countAdmitted(refusals, Array(2).fill('192.0.2.1'), 'UNAUTHENTICATED'), 0)
    assert.equal(countAdmitted(refusals, ['192.0.2.2']), 1)
    assert.deepEqual(written, [])
    mock.timers.tick(periodMs)
    assert.deepEqual(
      written.map(({ network, counts }) => [network, counts]),
      [['192.0.2.1', { NOT_FOUND: 3, UNAUTHENTICATED: 2 }]],
    )
    assert.equal(countAdmitted(refusals, Array(5).fill('192.0.2.1')), 2)
  })

  test('counts all addresses of an IPv6 network together', () => {
    const refusals = open()
    assert.equal(countAdmitted(refusals, ['2001:db8::1', '2001:db8::2', '2001:db8::3']), 2)
    assert.equal(countAdmitted(refusals, ['2001:db8:0:1::1']), 1)
  })

  test('limits the lines for all networks together, and counts every refusal that has no line of its own', () => {
    const refusals = open({ maxTotalLines: 50 })
    const addresses = Array.from({ length: 5000 }, (_, at) => `10.0.${at >> 8}.${at & 255}`)
    assert.equal(countAdmitted(refusals, addresses), 50)
    refusals.flush()
    assert.ok(written.length <= 1001, `${written.length} lines`)
    assert.equal(
      written.reduce((sum, { counts }) => sum + (counts.NOT_FOUND ?? 0), 0),
      4950,
    )
    written = []
    mock.timers.tick(periodMs)
    assert.deepEqual(written, [])
  })
})
