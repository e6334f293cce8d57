// Clients that send a request and reset the connection before the server accepts it. Linux still delivers the request,
// but no longer tells the address of the client. Such a client must not be able to choose its address.
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

const forged = '203.0.113.7'
const overRest = Buffer.from(
  `GET /iam/v2beta1/groups/a HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${forged}\r\n\r\n`,
)
const overGrpc = Buffer.concat([
  preface,
  settings,
  headers(1, callBlock('/platform.iam.v2beta1.GroupsService/GetGroup', ['x-forwarded-for', forged])),
  frame(frameTypes.data, flags.endStream, 1, Buffer.alloc(5)),
])

const attacks = 20
const attackScript = `
  const [port, request] = process.argv.slice(1)
  for (let count = 0; count < ${attacks}; count++) {
    const socket = require('node:net').connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    socket.on('connect', () => socket.write(Buffer.from(request, 'base64'), () => socket.resetAndDestroy()))
  }`

/** Blocks the event loop until the clients have gone, so the server accepts their connections only afterwards. */
function sendAndReset(port: number, request: Buffer): void {
  const args = ['-e', attackScript, String(port), request.toString('base64')]
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
}

for (const [door, request] of [
  ['REST', overRest],
  ['gRPC', overGrpc],
] as const)
  test(`a request over ${door} whose client is gone before it is accepted is not executed`, async () => {
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
          headers: { 'x-forwarded-for': forged, connection: 'close' },
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

/** Blocks the event loop from the handshake until the client has sent its request and gone. */
async function sendAndResetOverTls(port: number, request: Buffer): Promise<void> {
  const signals = new Int32Array(new SharedArrayBuffer(8))
  const worker = new Worker(tlsAttackScript, { eval: true, workerData: { port, request, signals } })
  await once(worker, 'message')
  Atomics.store(signals, 0, 1)
  Atomics.notify(signals, 0)
  Atomics.wait(signals, 1, 0)
}

test('a client over TLS that is gone before its request is read cannot choose its address', async () => {
  const addresses: string[] = []
  const { port, close } = await openTestDoor({
    isTls: true,
    trustedProxies: ['10.0.0.0/8'],
    act: ({ envelope }) => void addresses.push(envelope.address),
  })
  try {
    for (let count = 0; count < attacks; count++) await sendAndResetOverTls(port, overRest)
    const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    client.write(overRest)
    await once(client, 'data')
    client.destroy()
    assert.ok(addresses.length > 0)
    assert.deepEqual(new Set(addresses), new Set(['127.0.0.1']))
  } finally {
    close()
  }
})
