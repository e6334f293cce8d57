import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, test } from 'node:test'
import type { ReadingSocket } from './slow-readers.ts'
import { openSlowReaders } from './slow-readers.ts'

const graceMs = 1000
const minBytesPerSecond = 100

/** A connection whose client reads as many bytes as the test says. */
class Connection extends EventEmitter implements ReadingSocket {
  writableLength = 0
  bytesWritten = 0
  isClosed = false

  write(bytes: number) {
    this.writableLength += bytes
    this.bytesWritten += bytes
  }

  read(bytes: number) {
    this.writableLength -= bytes
  }

  /** Like a real socket, it emits the event later. */
  destroy() {
    this.isClosed = true
    queueMicrotask(() => this.emit('close'))
  }
}

describe('connections of slow readers', () => {
  let time = 0
  function open(count: number, maxUnsentBytes = 1e9) {
    time = 0
    const readers = openSlowReaders({ minBytesPerSecond, graceMs, maxUnsentBytes, now: () => time })
    const connections = Array.from({ length: count }, () => new Connection())
    for (const connection of connections) readers.watch(connection)
    const pass = (milliseconds: number) => {
      time += milliseconds
      readers.check()
    }
    return { connections: connections as [Connection, ...Connection[]], pass }
  }

  test('are closed if the client reads nothing, or a byte now and then', () => {
    const { connections, pass } = open(2)
    const [idle, trickle] = connections
    for (const connection of connections) connection.write(1000)
    pass(0)
    for (let times = 0; times < 10; times++) {
      trickle?.read(1)
      pass(1000)
    }
    assert.deepEqual([idle.isClosed, trickle?.isClosed], [false, false])
    pass(1001)
    assert.deepEqual([idle.isClosed, trickle?.isClosed], [true, true])
  })

  test('stay open if the client reads at the minimum rate, however long it takes', () => {
    const { connections, pass } = open(1)
    const [reader] = connections
    reader.write(100_000)
    pass(0)
    for (let times = 0; times < 1000; times++) {
      reader.read(100)
      pass(1000)
      assert.ok(!reader.isClosed)
    }
  })

  test('stay open while every response is read in time, and while nothing is unsent', () => {
    const { connections, pass } = open(2)
    const [reader, quiet] = connections
    for (let times = 0; times < 100; times++) {
      reader.write(10)
      pass(graceMs)
      reader.read(10)
    }
    assert.deepEqual([reader.isClosed, quiet?.isClosed], [false, false])
  })

  test('with the most unsent bytes are closed if all together have too many', () => {
    const { connections, pass } = open(4, 1000)
    for (const [at, connection] of connections.entries()) connection.write(100 * (at + 1))
    pass(0)
    assert.ok(connections.every(({ isClosed }) => !isClosed))
    for (const connection of connections) connection.write(200)
    pass(0)
    assert.deepEqual(
      connections.map(({ isClosed }) => isClosed),
      [false, false, true, true],
    )
  })

  test('do not count towards the maximum once they are closed', () => {
    const { connections, pass } = open(2, 1000)
    const [slow, fast] = connections
    slow.write(400)
    pass(0)
    pass(graceMs + 4000)
    fast?.write(700)
    pass(1)
    assert.deepEqual([slow.isClosed, fast?.isClosed], [true, false])
  })
})
