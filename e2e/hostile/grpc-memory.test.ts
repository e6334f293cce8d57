// Clients that try to fill the memory of the gRPC door with their requests, or with replies that they do not read.
// Assertions compare numbers of bytes and calls, never durations.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2'
import { connect } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { after, afterEach, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Code } from '../../server/aip/code.ts'
import { grpcDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'

const createGroup = `/${GroupsService.typeName}/CreateGroup`
/** Needs no token. */
const publicMethod = '/platform.oidc.SecurityTokenService/Exchange'
const reflection = (version: string) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`
const mib = 1024 * 1024
const partBytes = 16_384
/** The bytes that a client may send on a stream before the server extends its window (RFC 9113 section 6.9.2). */
const initialWindow = 65_535

function framed(message: Uint8Array, size = message.length, isCompressed = false): Buffer {
  const head = Buffer.alloc(5)
  head[0] = isCompressed ? 1 : 0
  head.writeUInt32BE(size, 1)
  return Buffer.concat([head, message])
}
const listServices = framed(Buffer.from([58, 1, 42]))

// On SQLite only, since the limits apply before a call reaches the store.
describe('memory of the gRPC door', () => {
  let platform: Platform
  const sessions: ClientHttp2Session[] = []
  before(async () => {
    platform = await startPlatform('sqlite')
  })
  afterEach(() => {
    for (const session of sessions.splice(0)) session.destroy()
  })
  after(() => platform.stop())

  /** Each session has its own address, because the server slows down the addresses of attackers. */
  let lastAddress = 1
  function open(settings = {}): ClientHttp2Session {
    const localAddress = `127.0.3.${++lastAddress}`
    const createConnection = () => connectTcp({ port: platform.app.port, host: '127.0.0.1', localAddress })
    const session = connect(platform.url, { settings, createConnection })
    session.on('error', () => {})
    sessions.push(session)
    return session
  }

  type Call = {
    stream: ClientHttp2Stream
    /** The headers and trailers so far. */
    answer: IncomingHttpHeaders
    /** Number of bytes that were sent. */
    sent: number
    closed: Promise<unknown>
  }
  function start(session: ClientHttp2Session, path: string, headers = {}): Call {
    const stream = session.request({
      ...{ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' },
      ...headers,
    })
    const closed = new Promise((resolve) => stream.once('close', resolve))
    const call: Call = { stream, answer: {}, sent: 0, closed }
    stream.on('error', () => {})
    stream.resume()
    stream.on('response', (sent) => Object.assign(call.answer, sent))
    stream.on('trailers', (sent) => Object.assign(call.answer, sent))
    return call
  }

  /** Sends each part only after the previous one was sent, so that `sent` is exact. */
  function send(call: Call, bytes: Buffer): void {
    const part = bytes.subarray(0, partBytes)
    call.stream.write(part, (error) => {
      if (error) return
      call.sent += part.length
      if (bytes.length > partBytes) send(call, bytes.subarray(partBytes))
    })
  }

  const bearer = () => ({ authorization: `Bearer ${platform.owner.token}` })

  async function assertOthersAreAnswered(): Promise<void> {
    const door = grpcDoor(platform.url)
    try {
      const { body } = await door.call(GroupsService.method.listGroups, {}, platform.owner.token)
      assert.ok(body?.totalCount)
    } finally {
      door.close()
    }
  }

  const assertStatus = ({ answer }: Call, code: Code) => assert.equal(answer['grpc-status'], String(code))

  for (const version of ['v1', 'v1alpha']) {
    test(`reflection ${version} answers all requests of a client that reads late`, async () => {
      const session = open({ initialWindowSize: 0 })
      const call = start(session, reflection(version))
      const received: Buffer[] = []
      call.stream.on('data', (chunk) => received.push(chunk))
      for (let times = 0; times < 100; times++) call.stream.write(listServices)
      call.stream.end()
      await once(call.stream, 'response')
      await assertOthersAreAnswered()
      session.settings({ initialWindowSize: initialWindow })
      await call.closed
      const replies = Buffer.concat(received).toString('latin1').split(GroupsService.typeName).length - 1
      assert.equal(replies, 100)
      assertStatus(call, Code.OK)
    })

    test(`reflection ${version} refuses a flood of requests, and the connection is closed`, async () => {
      const session = open({ initialWindowSize: 0 })
      let calls = 0
      while (!session.destroyed && calls < 100) {
        const call = start(session, reflection(version))
        calls++
        send(call, Buffer.concat(Array.from({ length: 20_000 }, () => listServices)))
        await call.closed
        assert.ok(call.sent <= initialWindow, `${call.sent} bytes were sent`)
        await assertOthersAreAnswered()
      }
      assert.ok(calls < 20, `${calls} floods`)
    })
  }

  const health = '/grpc.health.v1.Health/'
  for (const [what, path] of [
    ['a health check', `${health}Check`],
    ['a health watch', `${health}Watch`],
    ['reflection', reflection('v1')],
  ] as const) {
    test(`${what} refuses a message of 1 MiB`, async () => {
      const call = start(open(), path)
      send(call, framed(Buffer.alloc(mib)))
      await call.closed
      assertStatus(call, Code.RESOURCE_EXHAUSTED)
      assert.ok(call.sent < mib, `${call.sent} bytes were sent`)
    })
  }

  const unfinished = framed(Buffer.alloc(4 * mib - 10), 4 * mib)

  for (const [who, headers] of [
    ['without a token', {}],
    ['with a token that is not valid', { authorization: 'Bearer a.b.c' }],
  ] as const) {
    test(`large requests ${who} are refused while they arrive`, async () => {
      const session = open()
      const calls = Array.from({ length: 50 }, () => start(session, createGroup, headers))
      for (const call of calls) send(call, unfinished)
      await Promise.all(calls.map(({ closed }) => closed))
      for (const call of calls) {
        assertStatus(call, Code.UNAUTHENTICATED)
        assert.ok(call.sent <= 2 * initialWindow, `${call.sent} bytes were sent`)
      }
      await assertOthersAreAnswered()
    })
  }

  test('many large requests without a token close the connection', async () => {
    const session = open()
    const calls = Array.from({ length: 1000 }, () => start(session, createGroup))
    for (const call of calls) send(call, unfinished)
    await once(session, 'close')
    const sent = calls.reduce((sum, call) => sum + call.sent, 0)
    assert.ok(sent < 32 * mib, `${sent} bytes were sent`)
    await assertOthersAreAnswered()
  })

  test('requests over 64 KiB to a method that needs no token are refused while they arrive', async () => {
    const session = open()
    const calls = Array.from({ length: 20 }, () => start(session, publicMethod))
    for (const call of calls) send(call, unfinished)
    await Promise.all(calls.map(({ closed }) => closed))
    for (const call of calls) {
      assertStatus(call, Code.RESOURCE_EXHAUSTED)
      assert.ok(call.sent < mib, `${call.sent} bytes were sent`)
    }
    await assertOthersAreAnswered()
  })

  /** About 4 KB that decompress to two million fields. */
  const manyFields = (tag: number) => gzipSync(Buffer.alloc(4 * mib, Buffer.from([tag, 0])))
  const tooManyBytes = /at most 65536 bytes/
  const noHeaders = () => ({})
  for (const [what, path, tag, headers, message] of [
    ['without a token', publicMethod, 0x2a, noHeaders, tooManyBytes],
    ['with unknown fields', '/platform.ping.v2beta1.PingService/Ping', 0x08, noHeaders, tooManyBytes],
    ['with a token', `/${AccessService.typeName}/BatchCheckAccess`, 0x0a, bearer, /at most 50000 values/],
  ] as const) {
    test(`a compressed message of two million fields is refused: ${what}`, async () => {
      const call = start(open(), path, { 'grpc-encoding': 'gzip', ...headers() })
      call.stream.end(framed(manyFields(tag), undefined, true))
      await call.closed
      assertStatus(call, Code.RESOURCE_EXHAUSTED)
      assert.match(decodeURI(String(call.answer['grpc-message'])), message)
    })
  }

  test('large requests with a token are limited per connection, and those of other connections are read', async () => {
    const session = open()
    const calls = Array.from({ length: 100 }, () => start(session, createGroup, bearer()))
    for (const call of calls) send(call, unfinished)
    const refused = calls.map(async (call) => {
      await call.closed
      assertStatus(call, Code.RESOURCE_EXHAUSTED)
    })
    await Promise.any(refused)
    const other = start(open(), createGroup, bearer())
    other.stream.end(framed(Buffer.alloc(mib)))
    await other.closed
    assertStatus(other, Code.INVALID_ARGUMENT) // the message is invalid, so it was read
    const waiting = calls.filter(({ stream }) => !stream.closed && !stream.destroyed)
    const bytes = waiting.reduce((sum, call) => sum + call.sent, 0)
    assert.ok(bytes <= 16 * mib + 100 * initialWindow, `${bytes} bytes wait`)
    assert.ok(!session.destroyed)
  })

  test('compressed requests are limited by their decompressed size', async () => {
    const bomb = framed(gzipSync(Buffer.alloc(4 * mib - 10)), undefined, true)
    const encoded = { 'grpc-encoding': 'gzip' }
    const anonymous = start(open(), createGroup, encoded)
    send(anonymous, bomb)
    await anonymous.closed
    assertStatus(anonymous, Code.UNAUTHENTICATED)
    for (const [path, headers, maxOpen] of [
      [publicMethod, encoded, 1],
      [createGroup, { ...encoded, ...bearer() }, 4],
    ] as const) {
      const session = open()
      // No call ends its request, so those that are not refused stay open, and their message stays in memory.
      const calls = Array.from({ length: 8 }, () => start(session, path, headers))
      for (const call of calls) send(call, bomb)
      const refused = calls.slice(maxOpen).map(async (call) => {
        await call.closed
        assertStatus(call, Code.RESOURCE_EXHAUSTED)
      })
      await Promise.all(refused)
      assert.ok(calls.slice(0, maxOpen).every(({ stream }) => !stream.closed))
    }
  })

  test('several compressed messages in one request are refused', async () => {
    const bomb = framed(gzipSync(Buffer.alloc(mib)), undefined, true)
    const call = start(open(), createGroup, { 'grpc-encoding': 'gzip', ...bearer() })
    send(call, Buffer.concat([bomb, bomb, bomb]))
    await call.closed
    assertStatus(call, Code.UNIMPLEMENTED)
  })
})
