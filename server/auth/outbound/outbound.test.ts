import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { freePort } from '../../../api/testing/free-port.ts'
import { openGuardedSend, openOutbound } from './outbound.ts'

/** Listens on 127.0.0.2 without accepting connections. */
const neverAccepting = `
  const { parentPort, workerData: port } = require('node:worker_threads')
  const server = require('node:net').createServer()
  server.listen({ port, host: '127.0.0.2', backlog: 1 }, () => {
    parentPort.postMessage('listening')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })
`

describe('a request to a host with several addresses', () => {
  const skip = process.platform !== 'linux' && 'needs 127.0.0.2, and a full queue as Linux treats it'
  test('reaches the second address if packets to the first are dropped', { skip }, async (context) => {
    const port = await freePort()
    const server = createServer((_, response) => response.end('here')).listen(port, '127.0.0.1')
    await once(server, 'listening')
    const worker = new Worker(neverAccepting, { eval: true, workerData: port })
    await once(worker, 'message')
    // Two connections fill the queue of the listener. Linux drops the packets of further ones.
    const queued = [connect(port, '127.0.0.2'), connect(port, '127.0.0.2')]
    await Promise.all(queued.map((socket) => once(socket, 'connect')))
    context.after(async () => {
      for (const socket of queued) socket.on('error', () => {}).destroy()
      server.close()
      server.closeAllConnections()
      await worker.terminate()
    })
    const addresses = ['127.0.0.2', '127.0.0.1'].map((address) => ({ address, family: 4 }))
    const outbound = openOutbound({ timeoutMs: 30_000, resolve: async () => addresses })
    const { status, body } = await outbound(`http://two.test:${port}/`, true)
    assert.deepEqual([status, body.toString()], [200, 'here'])
  })
})

test('a request whose signal is aborted already does not wait for the name resolution', async () => {
  const send = openGuardedSend({ resolve: () => new Promise(() => {}) })
  await assert.rejects(send(new URL('https://slow.test'), false, {}, AbortSignal.abort()), /timed out/)
})
