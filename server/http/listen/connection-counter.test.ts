import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { describe, mock, test } from 'node:test'
import type { ConnectionCounter } from './connection-counter.ts'
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

  test('of a network that has many are closed to admit connections of networks that have few', async () => {
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
    // Now every network has one connection, except the proxy, which forwards the calls of many clients.
    assert.equal(admit('192.0.2.5'), undefined)
    assert.ok(proxied.every((socket) => socket && !socket.destroyed))
    await new Promise((resolve) => setImmediate(resolve))
    others[0]?.destroy()
    await new Promise((resolve) => setImmediate(resolve))
    assert.ok(admit('192.0.2.5'))
    assert.equal(admit('192.0.2.6'), undefined)
  })

  test('of a proxy replace those of a network that has more', () => {
    const isProxy = (address: string) => address === '192.0.2.99'
    const counter = openConnectionCounter({ perNetwork: 9, total: 6, isProxy })
    const clients = Array.from({ length: 6 }, () => connection('192.0.2.1'))
    assert.ok(clients.every(counter.admit))
    const admitted = Array.from({ length: 4 }, () => counter.admit(connection('192.0.2.99')))
    assert.deepEqual(admitted, [true, true, true, false])
    assert.equal(clients.filter(({ destroyed }) => destroyed).length, 3)
  })
})

describe('a client that has many networks', () => {
  const openCounter = () => openConnectionCounter({ perNetwork: 50, total: 100, isProxy: () => false })
  const hex = (count: number) => (count + 1).toString(16)
  const attackers: [where: string, addressOf: (count: number) => string][] = [
    ['an IPv6 /48', (count) => `2001:db8:1:${hex(count)}::1`],
    ['an IPv6 /32', (count) => `2001:db8:${hex(count)}::1`],
    ['an IPv4 /24', (count) => `198.51.100.${count % 256}`],
    ['an IPv4 /16', (count) => `198.51.${count % 256}.${count % 7}`],
  ]

  /** Opens `length` connections from addressOf(0), addressOf(1) and so on, and returns those that were admitted. */
  const flood = (counter: ConnectionCounter, addressOf: (count: number) => string, length: number) =>
    Array.from({ length }, (_, count) => connection(addressOf(count))).filter(counter.admit)

  for (const [where, addressOf] of attackers) {
    test(`in ${where} does not lock out new clients`, () => {
      const counter = openCounter()
      const attacking = flood(counter, addressOf, 300)
      const others = ['203.0.113.9', '203.0.113.9', '2a00:1::1', '2a01:1::1'].map(connection)
      assert.ok(others.every(counter.admit))
      flood(counter, addressOf, 300)
      assert.ok(others.every(({ destroyed }) => !destroyed))
      assert.ok(attacking.filter(({ destroyed }) => destroyed).length >= others.length)
    })

    test(`in ${where} does not displace the connections of networks that have fewer`, () => {
      const counter = openCounter()
      const shared = Array.from({ length: 30 }, () => connection('203.0.113.9'))
      const single = Array.from({ length: 10 }, (_, count) => connection(`192.0.${count}.1`))
      const others = [...shared, ...single]
      assert.ok(others.every(counter.admit))
      assert.equal(flood(counter, addressOf, 300).filter(({ destroyed }) => !destroyed).length, 60)
      assert.ok(others.every(({ destroyed }) => !destroyed))
      assert.ok(counter.admit(connection('203.0.113.9')))
    })
  }

  test('does not lock out other customers of its provider', () => {
    const counter = openCounter()
    flood(counter, (count) => `2001:db8:1:${hex(count)}::1`, 300)
    const customers = ['2001:db8:2::1', '2001:db8:2::1', '2001:db8:3::1'].map(connection)
    assert.ok(customers.every(counter.admit))
    flood(counter, (count) => `2001:db8:1:${hex(count)}::1`, 300)
    assert.ok(customers.every(({ destroyed }) => !destroyed))
  })

  test('is refused, or has a connection closed in favour of another client, without a search through its networks', () => {
    const counter = openConnectionCounter({ perNetwork: 50, total: 5000, isProxy: () => false })
    const addressOf = (count: number) => `2001:db8:1:${hex(count)}::1`
    assert.equal(flood(counter, addressOf, 5000).length, 5000)
    const iterators = [new Map().entries(), new Set().values()].map((iterator) =>
      mock.method(Object.getPrototypeOf(iterator), 'next'),
    )
    try {
      assert.equal(counter.admit(connection(addressOf(5000))), false)
      assert.equal(counter.admit(connection('203.0.113.9')), true)
      const steps = iterators.reduce((sum, iterator) => sum + iterator.mock.callCount(), 0)
      assert.ok(steps > 0 && steps < 50, `${steps} steps`)
    } finally {
      for (const iterator of iterators) iterator.mock.restore()
    }
  })
})
