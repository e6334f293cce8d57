import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, test } from 'node:test'
import type { WatchedSocket } from './idle-connections.ts'
import { openIdleConnections } from './idle-connections.ts'

class Connection extends EventEmitter implements WatchedSocket {
  bytesRead = 0
  bytesWritten = 0
  isAnswering = false
  isClosed = false

  destroy() {
    this.isClosed = true
    this.emit('close')
  }
}

describe('a connection', () => {
  function open() {
    let time = 0
    const options = { keepAliveMs: 1000, idleMs: 3000, now: () => time }
    const idle = openIdleConnections<Connection>(options, ({ isAnswering }) => isAnswering)
    const connection = new Connection()
    idle.watch(connection)
    const pass = (milliseconds: number) => {
      time += milliseconds
      idle.check()
    }
    return { connection, pass }
  }

  test('is closed when it has had no traffic for the keep-alive time', () => {
    const { connection, pass } = open()
    pass(999)
    assert.equal(connection.isClosed, false)
    pass(1)
    assert.equal(connection.isClosed, true)
  })

  test('stays open while requests or responses are sent', () => {
    const { connection, pass } = open()
    for (let times = 0; times < 5; times++) {
      connection.bytesRead++
      pass(999)
      connection.bytesWritten++
      pass(999)
    }
    assert.equal(connection.isClosed, false)
  })

  test('may wait longer for the response to its request', () => {
    const { connection, pass } = open()
    connection.isAnswering = true
    pass(2999)
    assert.equal(connection.isClosed, false)
    pass(1)
    assert.equal(connection.isClosed, true)
  })

  test('is forgotten when its client closes it', () => {
    const { connection, pass } = open()
    connection.emit('close')
    pass(5000)
    assert.equal(connection.isClosed, false)
  })
})
