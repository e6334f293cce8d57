// Clients that try to use up the memory that the gRPC door has for large and compressed requests,
// so that calls of others are refused. The memory is 64 MiB for requests with a verified token, and
// 32 MiB for others. Each network and each identity may use only a part of it
// (server/http/grpc/request-bytes.ts). Assertions compare numbers of calls, never durations.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
} from 'node:http2'
import { connect, constants } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { after, afterEach, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Code } from '../../server/aip/code.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'

const createGroup = `/${GroupsService.typeName}/CreateGroup`
/** Needs no token. */
const publicMethod = '/platform.oidc.SecurityTokenService/Exchange'
const healthCheck = '/grpc.health.v1.Health/Check'
const gzip = { 'grpc-encoding': 'gzip' }
const mib = 1024 * 1024

function framed(message: Uint8Array, isCompressed: boolean, size = message.length): Buffer {
  const head = Buffer.alloc(5)
  head[0] = isCompressed ? 1 : 0
  head.writeUInt32BE(size, 1)
  return Buffer.concat([head, message])
}
/** About 4 KB that decompress to nearly 4 MiB. */
const bomb = framed(gzipSync(Buffer.alloc(4 * mib - 10)), true)
/**
 * A compressed message of about 5 KB, which decompresses to 5 KB. Its request counts as 4 MiB, since
 * 5 KB could decompress to that much. The message starts with a varint that is too long, so a call
 * that reads it fails with INVALID_ARGUMENT.
 */
const noise = framed(gzipSync(Buffer.concat([Buffer.alloc(20, 255), randomBytes(5000)])), true)
/** About 4 KB of a compressed message that claims to have 100,000 bytes. */
const unfinishedBomb = framed(Buffer.alloc(4065), true, 100_000)
/** Not a message of any of our methods, so a call that reads it fails with INVALID_ARGUMENT. */
const unreadable = Buffer.from([255])

type Call = { stream: ClientHttp2Stream; answer: IncomingHttpHeaders; closed: Promise<unknown> }

/** Sends `bytes` and, unless `isOpen`, ends the request. */
function start(
  session: ClientHttp2Session,
  path: string,
  bytes: Buffer,
  headers: OutgoingHttpHeaders = {},
  isOpen = true,
): Call {
  const stream = session.request({
    ...{ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' },
    ...headers,
  })
  const closed = new Promise((resolve) => stream.once('close', resolve))
  const call: Call = { stream, answer: {}, closed }
  stream.on('error', () => {})
  stream.on('response', (sent) => Object.assign(call.answer, sent))
  stream.on('trailers', (sent) => Object.assign(call.answer, sent))
  stream.resume()
  stream.write(bytes)
  if (!isOpen) stream.end()
  return call
}

async function statusOf(...call: Parameters<typeof start>): Promise<Code> {
  const [session, path, bytes, headers] = call
  const { answer, closed } = start(session, path, bytes, headers, false)
  await closed
  return Number(answer['grpc-status']) as Code // compared with codes only
}

/** Makes further calls on the connection. When these are answered, everything that was sent on it before has arrived. */
async function settle(session: ClientHttp2Session): Promise<void> {
  for (let times = 0; times < 3; times++)
    assert.equal(await statusOf(session, healthCheck, framed(Buffer.alloc(0), false)), Code.OK)
}

/** How many of the calls wait for the rest of their request. All others must be refused because of their size. */
function countWaiting(calls: readonly Call[]): number {
  const statuses = calls.map(({ answer }) => answer['grpc-status']).filter((status) => status !== undefined)
  for (const status of statuses) assert.equal(status, String(Code.RESOURCE_EXHAUSTED))
  return calls.length - statuses.length
}

// On SQLite only, since the limits apply before a call reaches the store.
describe('limits of the memory of the gRPC door', () => {
  let platform: Platform
  const sessions: ClientHttp2Session[] = []
  const attacks: Call[] = []
  before(async () => {
    platform = await startPlatform('sqlite', ['--trusted-proxies', '127.99.0.1'])
  })
  afterEach(endCalls)
  after(() => platform.stop())

  /** When it resolves, the server has noticed that the calls have ended. */
  async function endCalls(): Promise<void> {
    for (const { stream } of attacks.splice(0)) stream.close(constants.NGHTTP2_CANCEL)
    await Promise.all(sessions.map(settle))
    for (const session of sessions.splice(0)) session.destroy()
  }

  function open(localAddress: string): ClientHttp2Session {
    const createConnection = () => connectTcp({ port: platform.app.port, host: '127.0.0.1', localAddress })
    const session = connect(platform.url, { createConnection })
    session.on('error', () => {})
    sessions.push(session)
    return session
  }

  /** Starts a call from each address, one after the other, on a connection of its own, and does not end its request. */
  async function attack(
    addresses: readonly string[],
    path: string,
    bytes: Buffer,
    headersOf: (index: number) => OutgoingHttpHeaders = () => gzip,
  ): Promise<Call[]> {
    const calls: Call[] = []
    for (const [index, address] of addresses.entries()) {
      const session = open(address)
      const call = start(session, path, bytes, headersOf(index))
      calls.push(call)
      attacks.push(call)
      await settle(session)
    }
    return calls
  }

  const bearer = (token: string) => ({ ...gzip, authorization: `Bearer ${token}` })
  const compressed = framed(gzipSync(unreadable), true)
  const large = framed(Buffer.alloc(mib, 255), false)
  /** The largest message of a method that needs no token. */
  const largestPublic = framed(Buffer.alloc(64 * 1024, 255), false)

  async function assertRequestsWithoutTokenAreRead(address: string): Promise<void> {
    for (const [bytes, headers] of [
      [compressed, gzip],
      [largestPublic, {}],
    ] as const)
      assert.equal(await statusOf(open(address), publicMethod, bytes, headers), Code.INVALID_ARGUMENT)
  }

  async function assertRequestsWithTokenAreRead(address: string, token: string): Promise<void> {
    const { authorization } = bearer(token)
    for (const [bytes, headers] of [
      [compressed, bearer(token)],
      [large, { authorization }],
    ] as const)
      assert.equal(await statusOf(open(address), createGroup, bytes, headers), Code.INVALID_ARGUMENT)
  }

  /** The token of a new identity. The server has verified it once, so it knows the token in later calls. */
  async function newToken(): Promise<string> {
    const { token } = await platform.addIdentity(platform.owner.organization)
    await statusOf(open('127.0.0.1'), createGroup, compressed, bearer(token))
    return token
  }

  test('an incomplete compressed request uses only as much of the limit as the bytes that were sent', async () => {
    const addresses = Array<string>(12).fill('127.1.1.1')
    const calls = await attack(addresses, publicMethod, unfinishedBomb)
    assert.equal(countWaiting(calls), 12)
    await assertRequestsWithoutTokenAreRead('127.1.1.1')
    const token = await newToken()
    const trusted = await attack(addresses, createGroup, unfinishedBomb, () => bearer(token))
    assert.equal(countWaiting(trusted), 12)
    await assertRequestsWithTokenAreRead('127.1.1.1', token)
  })

  test('callers without a token at one address use at most a quarter of the memory, and others are answered', async () => {
    const calls = await attack(Array<string>(12).fill('127.1.1.1'), publicMethod, bomb)
    assert.equal(countWaiting(calls), 2)
    await assertRequestsWithoutTokenAreRead('127.1.1.2')
  })

  test('all addresses of a /24 together use at most three eighths of the memory, and all of a /16 at most half', async () => {
    const near = await attack(
      Array.from({ length: 12 }, (_, index) => `127.1.1.${index + 1}`),
      publicMethod,
      bomb,
    )
    assert.equal(countWaiting(near), 3)
    const far = await attack(
      Array.from({ length: 12 }, (_, index) => `127.1.${index + 2}.1`),
      publicMethod,
      bomb,
    )
    assert.equal(countWaiting([...near, ...far]), 4)
    await assertRequestsWithoutTokenAreRead('127.2.1.1')
  })

  test('health checks are answered while callers without a token use all of their memory', async () => {
    const calls = await attack(
      Array.from({ length: 20 }, (_, index) => `127.${index + 1}.1.1`),
      publicMethod,
      bomb,
    )
    assert.equal(countWaiting(calls), 8)
    await settle(open('127.30.1.1'))
    const other = statusOf(open('127.30.1.1'), publicMethod, compressed, gzip)
    assert.equal(await other, Code.RESOURCE_EXHAUSTED)
  })

  test('an identity uses at most three eighths of the memory, even if it calls from many networks', async () => {
    const [token, other] = [await newToken(), await newToken()]
    const addresses = Array.from({ length: 12 }, (_, index) => `127.${index + 1}.1.1`)
    const calls = await attack(addresses, createGroup, bomb, () => bearer(token))
    assert.equal(countWaiting(calls), 6)
    await assertRequestsWithTokenAreRead('127.1.1.1', other)
    await assertRequestsWithoutTokenAreRead('127.1.1.1')
  })

  test('the identities at one address together use at most half of the memory', async () => {
    const tokens = await Promise.all(Array.from({ length: 12 }, newToken))
    const addresses = Array<string>(12).fill('127.1.1.1')
    const calls = await attack(addresses, createGroup, bomb, (index) => bearer(tokens[index] ?? ''))
    assert.equal(countWaiting(calls), 8)
    await assertRequestsWithTokenAreRead('127.1.1.2', platform.owner.token)
  })

  test('each client of a proxy has its own limit, even if they use the same connection', async () => {
    const session = open('127.99.0.1')
    const from = (client: string) => ({ ...gzip, 'x-forwarded-for': client })
    const calls = Array.from({ length: 12 }, () => start(session, publicMethod, bomb, from('192.0.2.1')))
    attacks.push(...calls)
    await settle(session)
    assert.equal(countWaiting(calls), 2)
    const other = statusOf(session, publicMethod, compressed, from('192.0.2.2'))
    assert.equal(await other, Code.INVALID_ARGUMENT)
    assert.ok(!session.destroyed)
  })

  test('memory is free again when the calls end', async () => {
    for (let round = 0; round < 3; round++) {
      const session = open('127.1.1.1')
      for (let times = 0; times < 10; times++)
        assert.equal(await statusOf(session, publicMethod, noise, gzip), Code.INVALID_ARGUMENT)
      assert.equal(countWaiting(await attack(Array<string>(3).fill('127.1.1.1'), publicMethod, bomb)), 2)
      await endCalls()
    }
  })
})
