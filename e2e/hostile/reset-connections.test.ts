// Clients that send a request and reset the connection before the server accepts it. Linux still delivers the request,
// but no longer reports the address of the client. Such a client must not be able to choose its address with the header
// X-Forwarded-For.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { Worker } from 'node:worker_threads'
import {
  callBlock,
  flags,
  frame,
  frameTypes,
  headers,
  preface,
  settings,
} from '../../server/testing/http2-frames.ts'
import { openTestDoor } from '../../server/testing/test-door.ts'

const forgedAddress = '203.0.113.7'
const restRequest = Buffer.from(
  `GET /iam/v2beta1/groups/a HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${forgedAddress}\r\n\r\n`,
)
const grpcRequest = Buffer.concat([
  preface,
  settings,
  headers(1, callBlock('/platform.iam.v2beta1.GroupsService/GetGroup', ['x-forwarded-for', forgedAddress])),
  frame(frameTypes.data, flags.endStream, 1, Buffer.alloc(5)),
])

const attackCount = 20
/** For waits that block the event loop, so that no timeout of the test runner can end them. */
const maxWaitMs = 300_000
const attackScript = `
  const [port, request] = process.argv.slice(1)
  for (let count = 0; count < ${attackCount}; count++) {
    const socket = require('node:net').connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    socket.on('connect', () => socket.write(Buffer.from(request, 'base64'), () => socket.resetAndDestroy()))
  }`

/** Blocks the event loop until the clients have exited, so the server accepts their connections only afterwards. */
function sendAndReset(port: number, request: Buffer): void {
  const args = ['-e', attackScript, String(port), request.toString('base64')]
  const { status, stderr } = spawnSync(process.execPath, args, {
    ...{ encoding: 'utf8', timeout: maxWaitMs, killSignal: 'SIGKILL' },
  })
  assert.equal(status, 0, stderr)
}

for (const [door, request] of [
  ['REST', restRequest],
  ['gRPC', grpcRequest],
] as const)
  test(`a request over ${door} is not executed if its client resets the connection before the server accepts it`, async () => {
    const addresses: string[] = []
    const { port, close } = await openTestDoor({
      trustedProxies: ['10.0.0.0/8'],
      act: ({ envelope }) => void addresses.push(envelope.address),
    })
    try {
      sendAndReset(port, request)
      // The server accepts connections in their order, so it has read the attacks when it answers this client.
      for (let count = 0; count < 3; count++) {
        const answer = await fetch(`http://127.0.0.1:${port}/iam/v2beta1/groups/a`, {
          headers: { 'x-forwarded-for': forgedAddress, connection: 'close' },
        })
        assert.equal(answer.status, 200)
      }
      assert.deepEqual(addresses, Array(3).fill('127.0.0.1'))
    } finally {
      close()
    }
  })

const tlsAttackScript = `
  const { workerData, parentPort } = require('node:worker_threads')
  const { port, request, signals } = workerData
  const tcp = require('node:net').connect(port, '127.0.0.1')
  const socket = require('node:tls').connect({ socket: tcp, rejectUnauthorized: false }, () => {
    parentPort.postMessage('connected')
    Atomics.wait(signals, 0, 0)
    socket.write(request, () => tcp.resetAndDestroy())
  })
  socket.on('error', () => {})
  tcp.on('close', () => {
    Atomics.store(signals, 1, 1)
    Atomics.notify(signals, 1)
  })`

/** After the handshake, blocks the event loop until the client has sent its request and reset the connection. */
async function sendAndResetOverTls(port: number, request: Buffer): Promise<void> {
  // The first value becomes 1 when the client may send, the second when its connection is closed.
  const signals = new Int32Array(new SharedArrayBuffer(8))
  const worker = new Worker(tlsAttackScript, { eval: true, workerData: { port, request, signals } })
  await once(worker, 'message')
  Atomics.store(signals, 0, 1)
  Atomics.notify(signals, 0)
  assert.notEqual(Atomics.wait(signals, 1, 0, maxWaitMs), 'timed-out', 'the connection was not closed')
}

test('a TLS client that resets the connection before its request is read cannot choose its address', async () => {
  const addresses: string[] = []
  const { port, close } = await openTestDoor({
    isTls: true,
    trustedProxies: ['10.0.0.0/8'],
    act: ({ envelope }) => void addresses.push(envelope.address),
  })
  try {
    // Each attack starts a thread.
    for (let count = 0; count < 3; count++) await sendAndResetOverTls(port, restRequest)
    const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    client.write(restRequest)
    await once(client, 'data')
    client.destroy()
    assert.ok(addresses.length > 0)
    assert.deepEqual(new Set(addresses), new Set(['127.0.0.1']))
  } finally {
    close()
  }
})
