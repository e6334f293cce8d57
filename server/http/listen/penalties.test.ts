import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, describe, mock, test } from 'node:test'
import { openPenalties } from './penalties.ts'

const pauseMs = 100
const durationMs = 2000

/** A connection that records whether it was started and whether it was closed. */
function connection(remoteAddress: string) {
  const seen = { isStarted: false, isClosed: false }
  const socket = Object.assign(new EventEmitter(), {
    remoteAddress,
    destroyed: false,
    destroy() {
      socket.destroyed = true
      seen.isClosed = true
      socket.emit('close')
    },
  })
  const start = () => {
    seen.isStarted = true
  }
  return { seen, socket: socket as unknown as Socket, start }
}

describe('penalties', () => {
  let time = 0
  afterEach(() => mock.timers.reset())

  function open(mayPenalize = (_: string): boolean => true) {
    mock.timers.enable({ apis: ['setTimeout'] })
    time = 0
    const penalties = openPenalties({ mayPenalize, durationMs, pauseMs, now: () => time })
    const connect = (address: string) => {
      const { socket, start, seen } = connection(address)
      penalties.admit(socket, start)
      return { socket, seen }
    }
    const admit = (address: string) => connect(address).seen
    return { penalties, connect, admit }
  }

  const pass = (milliseconds: number) => {
    time += milliseconds
    mock.timers.tick(milliseconds)
  }

  test('do not delay connections of other addresses', () => {
    const { penalties, admit } = open()
    penalties.add('192.0.2.1')
    assert.ok(admit('192.0.2.2').isStarted)
  })

  test('apply to all addresses of an IPv6 network, and to both forms of an IPv4 address', () => {
    const { penalties, admit } = open()
    penalties.add('2001:db8:0:1::1')
    assert.ok(!admit('2001:db8:0:1:ffff:ffff:ffff:ffff').isStarted)
    assert.ok(admit('2001:db8:0:2::1').isStarted)
    penalties.add('192.0.2.1')
    assert.ok(!admit('::ffff:192.0.2.1').isStarted)
    assert.ok(admit('::ffff:192.0.2.2').isStarted)
  })

  test('let the connections of a penalized address start one after the other', () => {
    const { penalties, admit } = open()
    penalties.add('192.0.2.1')
    const [first, second] = [admit('192.0.2.1'), admit('192.0.2.1')]
    const isStarted = () => [first.isStarted, second.isStarted]
    assert.deepEqual(isStarted(), [false, false])
    pass(pauseMs)
    assert.deepEqual(isStarted(), [true, false])
    pass(pauseMs)
    assert.deepEqual(isStarted(), [true, true])
  })

  test('pause twice as long after each further abuse, up to sixteen times as long', () => {
    const { penalties, admit } = open()
    for (const pauses of [1, 2, 4, 8, 16, 16]) {
      penalties.add('192.0.2.1')
      const seen = admit('192.0.2.1')
      pass(pauses * pauseMs - 1)
      assert.ok(!seen.isStarted)
      pass(1)
      assert.ok(seen.isStarted)
    }
    pass(durationMs)
    penalties.add('192.0.2.1')
    const seen = admit('192.0.2.1')
    pass(pauseMs)
    assert.ok(seen.isStarted)
  })

  test('close a connection if a hundred connections of its address are waiting', () => {
    const { penalties, admit } = open()
    penalties.add('192.0.2.1')
    const waiting = Array.from({ length: 100 }, () => admit('192.0.2.1'))
    assert.ok(admit('192.0.2.1').isClosed)
    assert.ok(waiting.every(({ isClosed }) => !isClosed))
  })

  test('do not let closed connections take places or time of those that wait', () => {
    const { penalties, connect, admit } = open()
    penalties.add('192.0.2.1')
    const closed = Array.from({ length: 100 }, () => connect('192.0.2.1'))
    for (const { socket } of closed) socket.destroy()
    const waiting = admit('192.0.2.1')
    pass(pauseMs)
    assert.deepEqual(waiting, { isStarted: true, isClosed: false })
    assert.ok(closed.every(({ seen }) => !seen.isStarted))
  })

  test('keep the same pause between two connections if others are closed meanwhile', () => {
    const { penalties, connect, admit } = open()
    penalties.add('192.0.2.1')
    const first = admit('192.0.2.1')
    pass(pauseMs)
    assert.ok(first.isStarted)
    const second = connect('192.0.2.1')
    for (let times = 0; times < 10; times++) connect('192.0.2.1').socket.destroy()
    second.socket.destroy()
    const third = admit('192.0.2.1')
    pass(pauseMs - 1)
    assert.ok(!third.isStarted)
    pass(1)
    assert.ok(third.isStarted)
  })

  test('end when their duration has passed since the last abuse', () => {
    const { penalties, admit } = open()
    for (let times = 0; times < 3; times++) {
      penalties.add('192.0.2.1')
      pass(durationMs - 1)
    }
    assert.ok(!admit('192.0.2.1').isStarted)
    pass(4 * pauseMs)
    assert.ok(admit('192.0.2.1').isStarted)
  })

  test('apply to a whole network if many of its addresses are abusive', () => {
    const { penalties, admit } = open()
    for (let at = 0; at < 7; at++) penalties.add(`192.0.2.${at}`)
    assert.ok(admit('192.0.2.100').isStarted)
    penalties.add('192.0.2.7')
    assert.ok(!admit('192.0.2.100').isStarted)
    assert.ok(admit('192.0.3.100').isStarted)
    for (let at = 8; at < 64; at++) penalties.add(`192.0.${at}.1`)
    assert.ok(!admit('192.0.3.100').isStarted)
    assert.ok(admit('192.1.3.100').isStarted)
  })

  test('apply to a whole network even if it has more abusive addresses than are remembered', () => {
    const { penalties, admit } = open()
    for (let at = 0; at < 12_000; at++) {
      penalties.add(`192.0.${at >> 8}.${at & 255}`)
      if (at >= 64) assert.ok(!admit('192.0.255.255').isStarted, `after ${at} addresses`)
    }
  })

  test('do not apply to a network of which one address is abusive many times', () => {
    const { penalties, admit } = open()
    for (let times = 0; times < 100; times++) penalties.add('192.0.2.1')
    assert.ok(admit('192.0.2.2').isStarted)
  })

  test('forget the abusive addresses of a network if no other follows for the duration of a penalty', () => {
    const { penalties, admit } = open()
    for (let at = 0; at < 7; at++) penalties.add(`192.0.2.${at}`)
    pass(durationMs + 1)
    penalties.add('192.0.2.7')
    assert.ok(admit('192.0.2.100').isStarted)
  })

  test('do not apply to proxies', () => {
    const { penalties, admit } = open((address) => address !== '192.0.2.1')
    penalties.add('192.0.2.1')
    assert.ok(admit('192.0.2.1').isStarted)
  })
})
