import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { openConnectionCounter } from './connection-counter.ts'

function connection(remoteAddress: string): Socket {
  const socket = Object.assign(new EventEmitter(), {
    remoteAddress,
    destroyed: false,
    destroy() {
      socket.destroyed = true
      setImmediate(() => socket.emit('close'))
    },
  })
  return socket as unknown as Socket
}

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

  test('of a network with many make room for those of networks with few', async () => {
    const isProxy = (address: string) => address === '192.0.2.99'
    const counter = openConnectionCounter({ perNetwork: 4, total: 6, isProxy })
    const admit = (address: string) => {
      const socket = connection(address)
      return counter.admit(socket) ? socket : undefined
    }
    const greedy = Array.from({ length: 4 }, () => admit('192.0.2.1'))
    const proxied = [admit('192.0.2.99'), admit('192.0.2.99')]
    const others = ['192.0.2.2', '192.0.2.3', '192.0.2.4'].map(admit)
    assert.ok(others.every((socket) => socket && !socket.destroyed))
    assert.deepEqual(
      greedy.map((socket) => socket?.destroyed),
      [true, true, true, false],
    )
    // Now every network has one, except the proxy, which stands for many clients.
    assert.equal(admit('192.0.2.5'), undefined)
    assert.ok(proxied.every((socket) => socket && !socket.destroyed))
    await new Promise((resolve) => setImmediate(resolve))
    others[0]?.destroy()
    await new Promise((resolve) => setImmediate(resolve))
    assert.ok(admit('192.0.2.5'))
    assert.equal(admit('192.0.2.6'), undefined)
  })
})
