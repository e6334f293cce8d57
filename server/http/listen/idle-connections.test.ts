import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import type { TestContext } from 'node:test'
import { describe, test } from 'node:test'
import type { WatchedSocket } from './idle-connections.ts'
import { openIdleConnections } from './idle-connections.ts'
import { openSlowReaders } from './slow-readers.ts'

class Connection extends EventEmitter implements WatchedSocket {
  bytesRead = 0
  bytesWritten = 0
  writableLength = 0
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

describe('a connection with a large response that was written at once', () => {
  // More than the send and receive buffers of the system hold.
  const response = Buffer.alloc(32 * 1024 * 1024)
  const minBytesPerSecond = 1024 * 1024
  const idleMs = 3000

  /** A real connection, because only a real socket shows how it counts the bytes of a write under way. */
  async function open(t: TestContext) {
    let time = 0
    const now = () => time
    const idle = openIdleConnections<Socket>({ keepAliveMs: 1000, idleMs, now }, () => true)
    const limits = { minBytesPerSecond, graceMs: idleMs, maxUnsentBytes: 1e9 }
    const slowReaders = openSlowReaders({ ...limits, now })
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [socket] = (await once(server, 'connection')) as [Socket]
    t.after(() => {
      client.destroy()
      socket.destroy()
      server.close()
    })
    for (const watcher of [idle, slowReaders]) watcher.watch(socket)
    const pass = (milliseconds: number) => {
      time += milliseconds
      slowReaders.check()
      idle.check()
    }
    socket.write(response)
    pass(0)
    return { client, socket, pass }
  }

  test('stays open while its client reads faster than the minimum rate', async (t) => {
    const { client, socket, pass } = await open(t)
    let readWhileUnsent = 0
    while (socket.writableLength > 0) {
      const chunk = client.read() as Buffer | null
      if (!chunk) {
        await once(client, 'readable')
        continue
      }
      readWhileUnsent += chunk.length
      pass((chunk.length / minBytesPerSecond) * 900)
      assert.equal(socket.destroyed, false, `closed after ${readWhileUnsent} bytes`)
    }
    assert.ok(readWhileUnsent > minBytesPerSecond * (idleMs / 1000) * 2)
    pass(0)
    pass(idleMs - 1)
    assert.equal(socket.destroyed, false)
    pass(1)
    assert.equal(socket.destroyed, true)
  })

  test('is closed if its client reads nothing', async (t) => {
    const { socket, pass } = await open(t)
    pass(idleMs + (response.length / minBytesPerSecond) * 1000)
    assert.equal(socket.destroyed, false)
    pass(1)
    assert.equal(socket.destroyed, true)
  })
})
