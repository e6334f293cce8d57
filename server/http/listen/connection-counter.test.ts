import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { openConnectionCounter } from './connection-counter.ts'

const connection = (remoteAddress: string) => Object.assign(new EventEmitter(), { remoteAddress }) as Socket

describe('open connections', () => {
  test('are limited for each network, which for IPv6 is a /64', () => {
    const counter = openConnectionCounter({ perNetwork: 2, total: 100, isProxy: () => false })
    const admit = (address: string) => counter.admit(connection(address))
    assert.deepEqual(['2001:db8::1', '2001:db8::2', '2001:db8::3'].map(admit), [true, true, false])
    assert.deepEqual(['2001:db8:0:1::1', '192.0.2.1', '::ffff:192.0.2.1'].map(admit), [true, true, true])
    assert.equal(admit('192.0.2.1'), false)
  })

  test('are limited in total, and free their place when they close', () => {
    const counter = openConnectionCounter({ perNetwork: 2, total: 3, isProxy: () => false })
    const open = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map(connection)
    assert.ok(open.every(counter.admit))
    assert.equal(counter.admit(connection('192.0.2.4')), false)
    open[0]?.emit('close')
    assert.equal(counter.admit(connection('192.0.2.4')), true)
    assert.equal(counter.admit(connection('192.0.2.5')), false)
  })

  test('of a trusted proxy are limited only in total', () => {
    const counter = openConnectionCounter({ perNetwork: 1, total: 3, isProxy: () => true })
    const admitted = Array.from({ length: 4 }, () => counter.admit(connection('192.0.2.1')))
    assert.deepEqual(admitted, [true, true, true, false])
  })
})
