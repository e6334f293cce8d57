// Clients that open too many connections, or read their responses so slowly that these stay in memory. The tests
// advance the clock of the door, so they need not wait for timeouts.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2'
import { connect as connectHttp2 } from 'node:http2'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { beforeEach, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { doorsOfSuite } from '../../server/testing/doors-of-suite.ts'
import type { TestDoorOptions } from '../../server/testing/test-door.ts'
import { asJson } from '../../server/wire/reply.ts'

const getGroup = '/platform.iam.v2beta1.GroupsService/GetGroup'
const exportPath = '/vulnerabilities/v2beta1/advisories:osv'
const hourMs = 3_600_000

const closed = (socket: Socket | ClientHttp2Stream | ClientHttp2Session) =>
  new Promise<void>((resolve) => void (socket.closed ? resolve() : socket.once('close', () => resolve())))

/** Returns the first data of the response. If the connection closes instead, the result does not start with `HTTP`. */
async function ask(socket: Socket): Promise<string> {
  socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
  const [data] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [unknown]
  return String(data)
}

function call(session: ClientHttp2Session): ClientHttp2Stream {
  const stream = session.request({
    ...{ ':method': 'POST', ':path': getGroup, 'content-type': 'application/grpc', te: 'trailers' },
  })
  stream.on('error', () => {})
  stream.end(Buffer.alloc(5))
  return stream
}

describe('clients that open too many connections or read too slowly', () => {
  const { closers, ...doors } = doorsOfSuite()
  let time: number
  beforeEach(() => {
    time = Date.now()
  })

  const openDoor = (options: TestDoorOptions) => doors.openDoor({ now: () => time, ...options })

  async function open(port: number, localAddress: string): Promise<Socket> {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    socket.on('error', () => {})
    closers.push(() => socket.destroy())
    await once(socket, 'connect')
    return socket
  }

  function openSession(port: number, settings = {}): ClientHttp2Session {
    const session = connectHttp2(`http://127.0.0.1:${port}`, { settings })
    session.on('error', () => {})
    closers.push(() => session.destroy())
    return session
  }

  test('an address has a limited number of connections, and other addresses are served', async () => {
    const { port, rejected } = await openDoor({ maxConnections: { perNetwork: 3, total: 5 } })
    const accepted = [
      await open(port, '127.0.3.1'),
      await open(port, '127.0.3.1'),
      await open(port, '127.0.3.1'),
    ]
    for (const socket of accepted) assert.match(await ask(socket), /^HTTP\/1.1 200/)
    const refused = await ask(await open(port, '127.0.3.1'))
    assert.match(refused, /^HTTP\/1.1 503 /)
    assert.match(refused, /\r\nretry-after: 1\r\n/)
    assert.match(refused, /"code":14,"message":"Unavailable: too many connections are open/)
    assert.equal(rejected.length, 1)
    assert.match(await ask(await open(port, '127.0.3.2')), /^HTTP\/1.1 200/)
    assert.match(await ask(accepted[0] as Socket), /^HTTP\/1.1 200/)
  })

  test('connections are limited in total, and closing one makes room for another', async () => {
    const { port } = await openDoor({ maxConnections: { perNetwork: 3, total: 2 } })
    const first = await open(port, '127.0.3.1')
    assert.match(await ask(first), /^HTTP\/1.1 200/)
    assert.match(await ask(await open(port, '127.0.3.2')), /^HTTP\/1.1 200/)
    assert.match(await ask(await open(port, '127.0.3.3')), /^HTTP\/1.1 503/)
    first.destroy()
    let answer = ''
    while (!answer.startsWith('HTTP/1.1 200')) answer = await ask(await open(port, '127.0.3.3'))
  })

  test('a client with many addresses of one /16 does not lock out others or close their connections', async () => {
    const { port } = await openDoor({ maxConnections: { perNetwork: 3, total: 6 } })
    const established = [await open(port, '127.6.0.1'), await open(port, '127.6.0.1')]
    for (const socket of established) assert.match(await ask(socket), /^HTTP\/1.1 200/)
    const statuses: string[] = []
    for (let count = 1; count <= 10; count++)
      statuses.push((await ask(await open(port, `127.5.${count}.1`))).slice(9, 12))
    assert.deepEqual(statuses, [...Array(4).fill('200'), ...Array(6).fill('503')])
    const newcomer = await open(port, '127.7.0.1')
    for (const socket of [newcomer, ...established]) assert.match(await ask(socket), /^HTTP\/1.1 200/)
  })

  test('of hundreds of connections beyond the limit, a hundred are answered with an error and the others are reset', async () => {
    const { port, rejected } = await openDoor({
      maxConnections: { perNetwork: 1, total: 5 },
      timeoutsMs: { linger: hourMs },
    })
    const served = await open(port, '127.0.3.1')
    const many = await Promise.all(
      Array.from({ length: 300 }, () => {
        const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.3.1', allowHalfOpen: true })
        socket.on('error', () => {})
        closers.push(() => socket.destroy())
        return new Promise<Socket>((resolve) => {
          for (const event of ['data', 'close'] as const) socket.once(event, () => resolve(socket))
        })
      }),
    )
    assert.equal(rejected.length, 300)
    assert.equal(many.filter(({ bytesRead }) => bytesRead > 0).length, 100)
    assert.match(await ask(served), /^HTTP\/1.1 200/)
  })

  test('over TLS, a connection beyond the limit is reset before its handshake', async () => {
    const { port } = await openDoor({ isTls: true, maxConnections: { perNetwork: 1, total: 5 } })
    await open(port, '127.0.3.1')
    const refused = connect({ port, host: '127.0.0.1', localAddress: '127.0.3.1' })
    refused.on('error', () => {}).resume()
    await closed(refused)
    assert.equal(refused.bytesRead, 0)
  })

  test('a client that reads nothing of a response over HTTP/1.1 is disconnected, and others are answered', async () => {
    let isEnded = false
    const { port } = await openDoor({
      timeoutsMs: { checkInterval: 5 },
      async *documents() {
        try {
          for (;;) yield { json: () => asJson('x'.repeat(1_000_000)), bytes: () => new Uint8Array() }
        } finally {
          isEnded = true
        }
      },
    })
    const attacker = await open(port, '127.0.3.1')
    attacker.write(`GET ${exportPath} HTTP/1.1\r\nHost: a\r\n\r\n`)
    await once(attacker, 'readable')
    while (!isEnded) {
      assert.match(await ask(await open(port, '127.0.3.2')), /^HTTP\/1.1 200/)
      time += 60_000
      await pause(10)
    }
  })

  test('a call over HTTP/2 whose reply is read too slowly ends, even if its client is never idle', async () => {
    // The idle timeout, which every byte restarts, is too long to end the call.
    const { port } = await openDoor({ timeoutsMs: { idle: hourMs } })
    const stream = call(openSession(port, { initialWindowSize: 0 }))
    await once(stream, 'response')
    while (!stream.closed) {
      time += hourMs
      await pause(10)
    }
    const answered = call(openSession(port))
    answered.resume()
    await closed(answered)
  })

  test('connections with the most unread replies over HTTP/2 are closed, and others are answered', async () => {
    const { port } = await openDoor({ maxUnsentSmallReplyBytes: 200 })
    const [greedy, modest] = [
      openSession(port, { initialWindowSize: 0 }),
      openSession(port, { initialWindowSize: 0 }),
    ]
    const waiting = call(modest)
    await once(waiting, 'response')
    await Promise.race([
      closed(greedy),
      Promise.all(Array.from({ length: 50 }, () => once(call(greedy), 'response'))),
    ])
    await closed(greedy)
    assert.ok(!modest.closed && !waiting.closed)
    const answered = call(openSession(port))
    answered.resume()
    await closed(answered)
  })
})
