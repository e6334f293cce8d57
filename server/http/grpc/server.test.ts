import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { connect, constants } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { anyUnpack } from '@bufbuild/protobuf/wkt'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { ErrorInfoSchema } from '@stemma/api/gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '@stemma/api/gen/google/rpc/status_pb.ts'
import {
  CreateGroupRequestSchema,
  GetGroupRequestSchema,
  GroupSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Code } from '../../aip/code.ts'
import { malformed, unauthenticated } from '../../aip/errors.ts'
import { doorsOfSuite } from '../../testing/doors-of-suite.ts'
import {
  flags,
  frameTypes,
  frame as http2Frame,
  preface,
  reset,
  settings,
} from '../../testing/http2-frames.ts'
import { rawClient } from '../../testing/raw-http.ts'
import type { TestDoor } from '../../testing/test-door.ts'
import { errorDomain } from '../../testing/test-door.ts'
import type { Turns } from '../turns/turns.ts'
import { openTurns } from '../turns/turns.ts'

const service = '/platform.iam.v2beta1.GroupsService'
const getGroup = `${service}/GetGroup`
const healthCheck = '/grpc.health.v1.Health/Check'
const healthWatch = '/grpc.health.v1.Health/Watch'

describe('the gRPC door', () => {
  const { closers, openDoor } = doorsOfSuite()

  function connectTo({ port }: TestDoor): ClientHttp2Session {
    const session = connect(`http://127.0.0.1:${port}`)
    session.on('error', () => {})
    closers.push(() => session.destroy())
    return session
  }

  type Outcome = { status: number; headers: Record<string, unknown>; body: Buffer; rstCode: number }

  const frame = (message: Uint8Array, isCompressed = false) => {
    const head = Buffer.alloc(5)
    head[0] = isCompressed ? 1 : 0
    head.writeUInt32BE(message.length, 1)
    return Buffer.concat([head, message])
  }

  function start(session: ClientHttp2Session, path: string, headers: OutgoingHttpHeaders = {}) {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    })
    stream.on('error', () => {})
    return stream
  }

  /** The whole response, with headers and trailers in one object. */
  async function outcomeOf(stream: ClientHttp2Stream): Promise<Outcome> {
    const headers: Record<string, unknown> = {}
    const chunks: Buffer[] = []
    stream.on('response', (sent) => Object.assign(headers, sent))
    stream.on('trailers', (sent) => Object.assign(headers, sent))
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    await new Promise((resolve) => stream.once('close', resolve))
    const body = Buffer.concat(chunks)
    return { status: Number(headers[':status']), headers, body, rstCode: stream.rstCode }
  }

  async function call(
    session: ClientHttp2Session,
    path: string,
    bytes: Uint8Array = frame(new Uint8Array()),
    headers: OutgoingHttpHeaders = {},
  ): Promise<Outcome> {
    const stream = start(session, path, headers)
    const outcome = outcomeOf(stream)
    stream.end(bytes)
    return outcome
  }

  function assertStatus({ status, headers }: Outcome, code: number, message?: RegExp): void {
    assert.equal(status, 200)
    assert.equal(Number(headers['grpc-status']), code, String(headers['grpc-message']))
    assert.match(String(headers['x-request-id']), /^[A-Za-z0-9._-]{1,128}$/)
    const bytes = Buffer.from(String(headers['grpc-status-details-bin']), 'base64')
    const sent = fromBinary(StatusSchema, bytes)
    assert.equal(sent.code, code)
    assert.equal(sent.message, decodeURI(String(headers['grpc-message'])))
    if (message) assert.match(sent.message, message)
    const [info] = sent.details
    assert.ok(info)
    assert.equal(anyUnpack(info, ErrorInfoSchema)?.domain, errorDomain)
  }

  describe('a call', () => {
    test('returns its message and the request id', async () => {
      const session = connectTo(await openDoor())
      const { headers, body } = await call(session, getGroup, undefined, { 'x-request-id': 'my-id.1' })
      assert.equal(headers['grpc-status'], '0')
      assert.equal(headers['x-request-id'], 'my-id.1')
      assert.equal(fromBinary(GroupSchema, body.subarray(5)).name, 'GetGroup')
    })

    test('may be compressed', async () => {
      const requests: unknown[] = []
      const session = connectTo(await openDoor({ act: ({ request }) => requests.push(request) }))
      const message = toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid: 'abc' }))
      const bytes = frame(gzipSync(message), true)
      const { headers } = await call(session, getGroup, bytes, { 'grpc-encoding': 'gzip' })
      assert.equal(headers['grpc-status'], '0')
      assert.equal((requests[0] as { uid: string }).uid, 'abc')
    })

    test('is not decompressed while its token is checked', async () => {
      let reject = (_error: Error) => {}
      const authenticate = () =>
        new Promise<never>((_, fail) => {
          reject = fail
        })
      const session = connectTo(await openDoor({ authenticate }))
      const stream = start(session, getGroup, { 'grpc-encoding': 'gzip' })
      const outcome = outcomeOf(stream)
      stream.end(frame(Buffer.from('this is not gzip'), true))
      for (let times = 0; times < 20; times++) await call(session, healthCheck)
      reject(unauthenticated('the token is not valid'))
      assert.equal((await outcome).headers['grpc-status'], String(Code.UNAUTHENTICATED))
    })

    test('that fails with a StatusError returns its code, message and details', async () => {
      const act = () => {
        throw malformed('not: like “this”, 100 %')
      }
      const session = connectTo(await openDoor({ act }))
      assertStatus(await call(session, getGroup), 3, /^Invalid argument: not: like “this”, 100 %$/)
    })

    test('that fails with an internal error does not reveal the error', async () => {
      const act = () => {
        throw new Error('a secret of the server')
      }
      const session = connectTo(await openDoor({ act }))
      const outcome = await call(session, getGroup)
      assertStatus(outcome, 13)
      assert.doesNotMatch(JSON.stringify(outcome.headers), /secret/)
    })

    test('has a timeout of one minute, or less if it asks for less', async () => {
      const timeouts: number[] = []
      const session = connectTo(
        await openDoor({ act: ({ envelope }) => timeouts.push(Math.ceil(envelope.timeout / 1000)) }),
      )
      for (const sent of [undefined, '99999999H', '3S', '1000m'])
        await call(session, getGroup, undefined, sent ? { 'grpc-timeout': sent } : {})
      assert.deepEqual(timeouts, [60, 60, 3, 1])
    })

    test('ends at its deadline even if its message never arrives', async () => {
      const session = connectTo(await openDoor({ act: () => new Promise(() => {}) }))
      const slow = start(session, getGroup, { 'grpc-timeout': '50m' })
      slow.write(frame(new Uint8Array(100)).subarray(0, 10))
      const outcomes = [
        outcomeOf(slow),
        call(session, getGroup, undefined, { 'grpc-timeout': '50m' }),
        call(session, getGroup, undefined, { 'grpc-timeout': '1n' }),
      ]
      for (const outcome of await Promise.all(outcomes)) assertStatus(outcome, 4)
    })

    test('ends after the maximum duration if its caller sends no deadline and its message never arrives', async () => {
      let maxCallMs = 50
      const session = connectTo(await openDoor({ maxCallMs: () => maxCallMs }))
      const silent = start(session, getGroup)
      silent.write(frame(new Uint8Array(100)).subarray(0, 10))
      const gone = start(session, getGroup)
      gone.close(constants.NGHTTP2_CANCEL)
      assertStatus(await outcomeOf(silent), 4)
      maxCallMs = 60_000
      assert.equal((await call(session, getGroup)).headers['grpc-status'], '0')
    })

    test('whose request arrives after the call was rejected causes no error', async () => {
      let maxCallMs = 50
      const session = connectTo(await openDoor({ maxCallMs: () => maxCallMs }))
      const late = start(session, getGroup)
      const outcome = outcomeOf(late)
      late.once('response', () => late.end(frame(new Uint8Array())))
      assertStatus(await outcome, 4)
      maxCallMs = 60_000
      assert.equal((await call(session, getGroup)).headers['grpc-status'], '0')
    })

    test('that its caller cancels causes no error', async () => {
      const [arrived, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const door = await openDoor({
        act({ method }) {
          if (method !== 'GetGroup') return undefined
          arrived.resolve()
          return release.promise
        },
      })
      const session = connectTo(door)
      const stream = start(session, getGroup)
      stream.end(frame(new Uint8Array()))
      await arrived.promise
      stream.close(constants.NGHTTP2_CANCEL)
      await once(stream, 'close')
      release.resolve()
      const { headers } = await call(session, `${service}/ListGroups`)
      assert.equal(headers['grpc-status'], '0')
    })
  })

  describe('errors of unknown and malformed calls', () => {
    const large = toBinary(
      CreateGroupRequestSchema,
      create(CreateGroupRequestSchema, { group: { description: 'x'.repeat(4 * 1024 * 1024) } }),
    )
    const createGroup = `${service}/CreateGroup`
    const zeros = Buffer.alloc(5 * 1024 * 1024)
    const cases: Record<
      string,
      { path?: string; bytes?: Uint8Array; headers?: OutgoingHttpHeaders; code: number }
    > = {
      'an unknown method': { path: `${service}/Nothing`, code: 12 },
      'an unknown service': { path: '/nothing.Nowhere/Nothing', code: 12 },
      'a malformed path': { path: '/%zz', code: 12 },
      'a timeout without a number': { headers: { 'grpc-timeout': 'soon' }, code: 3 },
      'a timeout inside other text': { headers: { 'grpc-timeout': 'in10Sec' }, code: 3 },
      'a negative timeout': { headers: { 'grpc-timeout': '-1S' }, code: 3 },
      'a message over 4 MiB': { path: createGroup, bytes: frame(large), code: 8 },
      'a length over 4 MiB': { bytes: Buffer.from([0, 255, 255, 255, 255, 1, 2, 3]), code: 8 },
      'a message that decompresses to more than 4 MiB': {
        bytes: frame(gzipSync(zeros), true),
        headers: { 'grpc-encoding': 'gzip' },
        code: 8,
      },
      'a message that cannot be decompressed': {
        bytes: frame(Buffer.from('no gzip'), true),
        headers: { 'grpc-encoding': 'gzip' },
        code: 3,
      },
      'an unknown compression': {
        bytes: frame(Buffer.from('x'), true),
        headers: { 'grpc-encoding': 'zip' },
        code: 12,
      },
      'no message': { bytes: new Uint8Array(), code: 12 },
      'half a message': { bytes: frame(new Uint8Array(100)).subarray(0, 50), code: 12 },
      'half a frame': { bytes: Buffer.from([0, 0]), code: 12 },
      'two messages': { bytes: Buffer.concat([frame(Buffer.of()), frame(Buffer.of())]), code: 12 },
      'two compressed messages': {
        bytes: Buffer.concat([frame(gzipSync(''), true), frame(gzipSync(''), true)]),
        headers: { 'grpc-encoding': 'gzip' },
        code: 12,
      },
      'a message of garbage': { bytes: frame(Buffer.from([255, 255, 255])), code: 3 },
      'an unreadable message to a standard service': {
        path: healthCheck,
        bytes: frame(Buffer.from([10, 255])),
        code: 3,
      },
    }
    for (const [what, { path = getGroup, bytes, headers, code }] of Object.entries(cases)) {
      test(`have a request id and details: ${what}`, async () => {
        const session = connectTo(await openDoor())
        assertStatus(await call(session, path, bytes, { 'x-request-id': 'mine', ...headers }), code)
        const after = await call(session, getGroup)
        assert.equal(after.headers['grpc-status'], '0')
      })
    }

    test('are sent for a call without a message, even if the call has to wait for its turn', async () => {
      const turns = openTurns(() => performance.now())
      const lateTurns: Turns = { ...turns, run: (...task) => setTimeout(() => turns.run(...task), 20) }
      const session = connectTo(await openDoor({ turns: lateTurns }))
      for (const path of [getGroup, healthCheck])
        assertStatus(await call(session, path, new Uint8Array()), 12)
    })

    test('are reported', async () => {
      const door = await openDoor()
      await call(connectTo(door), `${service}/Nothing`, undefined, { 'x-request-id': 'my-id' })
      assert.deepEqual(
        door.rejected.map(({ requestId, error }) => [requestId, error.code]),
        [['my-id', 12]],
      )
    })

    test('are JSON if the request is not gRPC', async () => {
      const session = connectTo(await openDoor())
      const stream = session.request({ ':path': '/iam/v2beta1/groups' })
      const { status, headers, body } = await outcomeOf(stream)
      assert.equal(status, 415)
      assert.ok(headers['x-request-id'])
      const { code, details } = JSON.parse(body.toString())
      assert.equal(code, 3)
      assert.equal(details[0].domain, errorDomain)
    })
  })

  describe('floods', () => {
    test('a connection runs 100 calls at once, and further calls wait', async () => {
      const release = Promise.withResolvers<void>()
      let running = 0
      let maxRunning = 0
      const act = async () => {
        maxRunning = Math.max(maxRunning, ++running)
        await release.promise
        running--
      }
      const session = connectTo(await openDoor({ act }))
      await once(session, 'remoteSettings')
      assert.equal(session.remoteSettings.maxConcurrentStreams, 100)
      const calls = Array.from({ length: 150 }, () => call(session, getGroup))
      while (running < 100) await new Promise((resolve) => setTimeout(resolve, 10))
      release.resolve()
      const outcomes = await Promise.all(calls)
      assert.equal(maxRunning, 100)
      assert.ok(outcomes.every(({ headers }) => headers['grpc-status'] === '0'))
    })

    test('a client that opens and resets streams without end is disconnected, and others are served', async () => {
      const door = await openDoor()
      const flooder = connectSocket(door.port, '127.0.0.1')
      closers.push(() => flooder.destroy())
      flooder.on('error', () => {})
      const ended = new Promise((resolve) => flooder.once('close', resolve))
      flooder.write(preface)
      flooder.write(settings)
      flooder.resume()
      for (let stream = 1; stream < 20_000; stream += 2) {
        // :method POST, :scheme http, :path /
        flooder.write(
          http2Frame(frameTypes.headers, flags.endHeaders, stream, Buffer.from([0x83, 0x86, 0x84])),
        )
        flooder.write(reset(stream, constants.NGHTTP2_CANCEL))
      }
      await ended
      const { headers } = await call(connectTo(door), getGroup)
      assert.equal(headers['grpc-status'], '0')
    })

    const garbage: Record<string, Uint8Array> = {
      'text without frames': Buffer.from('text that contains no frames'.repeat(10)),
      'an oversized frame': Buffer.from([255, 255, 255, 0, 0, 0, 0, 0, 1]),
      'data for a stream that is not open': http2Frame(frameTypes.data, 0, 1, Buffer.from('x')),
      'broken header compression': Buffer.concat([
        settings,
        http2Frame(frameTypes.headers, flags.endStream | flags.endHeaders, 1, Buffer.alloc(20, 255)),
      ]),
      'headers without end': Buffer.concat([
        settings,
        http2Frame(frameTypes.headers, 0, 1, Buffer.from([0x83])),
        ...Array.from({ length: 200 }, () =>
          http2Frame(frameTypes.continuation, 0, 1, Buffer.alloc(16_000, 0x82)),
        ),
      ]),
    }
    for (const [what, bytes] of Object.entries(garbage)) {
      test(`${what} after the preface closes only that connection`, async () => {
        const door = await openDoor()
        const client = await rawClient(door.port)
        closers.push(() => client.close())
        client.send(preface)
        client.send(bytes)
        await client.remainingBytes()
        const { headers } = await call(connectTo(door), getGroup)
        assert.equal(headers['grpc-status'], '0')
      })
    }

    test('headers over 16 KiB reset only their call', async () => {
      const session = connectTo(await openDoor())
      await once(session, 'remoteSettings')
      assert.equal(session.remoteSettings.maxHeaderListSize, 16 * 1024)
      const { rstCode } = await call(session, getGroup, undefined, { 'x-long': 'a'.repeat(17 * 1024) })
      assert.equal(rstCode, constants.NGHTTP2_ENHANCE_YOUR_CALM)
      const { headers } = await call(session, getGroup)
      assert.equal(headers['grpc-status'], '0')
    })
  })

  const nameField = (name: string) => Buffer.concat([Buffer.of(10, name.length), Buffer.from(name)])
  const [serving, notServing, serviceUnknown] = [1, 2, 3]
  const healthOf = (body: Buffer) => body.at(-1)

  describe('the health service', () => {
    test('reports the server and each service as serving until they stop', async () => {
      const door = await openDoor()
      const session = connectTo(door)
      const names = ['', 'platform.iam.v2beta1.GroupsService']
      const ask = (name: string) =>
        call(session, healthCheck, frame(name === '' ? Buffer.of() : nameField(name)))
      for (const name of names) assert.equal(healthOf((await ask(name)).body), serving)
      door.grpc.setServing(false)
      for (const name of names) assert.equal(healthOf((await ask(name)).body), notServing)
    })

    test('does not know other services', async () => {
      const session = connectTo(await openDoor())
      assertStatus(await call(session, healthCheck, frame(nameField('a.B'))), Code.NOT_FOUND)
    })

    test('can be watched', async () => {
      const door = await openDoor()
      const session = connectTo(door)
      const stream = start(session, healthWatch)
      stream.end(frame(Buffer.of()))
      assert.equal(healthOf(((await once(stream, 'data')) as [Buffer])[0]), serving)
      door.grpc.setServing(false)
      assert.equal(healthOf(((await once(stream, 'data')) as [Buffer])[0]), notServing)
      const other = start(session, healthWatch)
      other.end(frame(nameField('a.B')))
      assert.equal(healthOf(((await once(other, 'data')) as [Buffer])[0]), serviceUnknown)
    })
  })

  describe('server reflection', () => {
    const listServices = Buffer.from([58, 0])
    for (const version of ['v1', 'v1alpha']) {
      test(`${version} lists the services and returns their files and those of error details`, async () => {
        const session = connectTo(await openDoor())
        const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`
        const { body, headers } = await call(session, path, frame(listServices))
        assert.equal(headers['grpc-status'], '0')
        assert.match(body.toString('latin1'), /platform\.iam\.v2beta1\.GroupsService/)
        assert.match(body.toString('latin1'), /grpc\.health\.v1\.Health/)
        const fileOf = async (name: string) => {
          const symbol = Buffer.from(name)
          const find = Buffer.concat([Buffer.of(34, symbol.length), symbol])
          return (await call(session, path, frame(find))).body.toString('latin1')
        }
        assert.match(
          await fileOf('platform.iam.v2beta1.GroupsService'),
          /platform\/iam\/v2beta1\/group\.proto/,
        )
        const stream = 'platform.vulnerabilities.v2beta1.AdvisoriesService.ExportAdvisoriesOsv'
        assert.match(await fileOf(stream), /ExportAdvisoriesOsv/)
        assert.match(await fileOf('grpc.health.v1.Health'), /HealthCheckRequest/)
        assert.match(await fileOf('google.rpc.ErrorInfo'), /google\/rpc\/error_details\.proto/)
      })
    }
  })

  describe('drain', () => {
    test('lets running calls finish, accepts no new ones and ends health watches', async () => {
      const release = Promise.withResolvers<void>()
      const arrived = Promise.withResolvers<void>()
      const act = () => {
        arrived.resolve()
        return release.promise
      }
      const door = await openDoor({ act })
      const session = connectTo(door)
      const watching = start(session, healthWatch)
      watching.end(frame(Buffer.of()))
      await once(watching, 'data')
      const busy = call(session, getGroup)
      await arrived.promise
      const drained = door.drain()
      await once(session, 'goaway')
      await new Promise((resolve) => (watching.closed ? resolve(undefined) : watching.once('close', resolve)))
      release.resolve()
      assert.equal((await busy).headers['grpc-status'], '0')
      await drained
    })

    test('asks a client that has sent nothing yet to close its connection', async () => {
      const door = await openDoor()
      const client = await rawClient(door.port)
      closers.push(() => client.close())
      const drained = door.drain()
      client.send(preface)
      client.send(settings)
      assert.ok((await client.remainingBytes()).includes(Buffer.from([frameTypes.goAway, 0, 0, 0, 0, 0])))
      client.close()
      await drained
    })
  })

  test('a grpc-js client receives request id and details of errors', async () => {
    const { port } = await openDoor()
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
    closers.push(() => client.close())
    const metadata = new Metadata()
    metadata.set('x-request-id', 'from-a-client')
    const asIs = (bytes: Buffer) => bytes
    const error = await new Promise<{ code: number; metadata: Metadata }>((resolve, reject) => {
      client.makeUnaryRequest(`${service}/Nothing`, asIs, asIs, Buffer.of(), metadata, (failure) =>
        failure ? resolve(failure) : reject(new Error('it did not fail')),
      )
    })
    assert.equal(error.code, 12)
    assert.deepEqual(error.metadata.get('x-request-id'), ['from-a-client'])
    assert.equal(error.metadata.get('grpc-status-details-bin').length, 1)
  })
})
