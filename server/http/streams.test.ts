// Tests streams through both doors, also with clients that are slow or disconnect, and with a server that stops.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { request } from 'node:http'
import type { ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { connect, constants } from 'node:http2'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { fromJson, toBinary } from '@bufbuild/protobuf'
import { StructSchema } from '@bufbuild/protobuf/wkt'
import type { ClientReadableStream, ServiceError } from '@grpc/grpc-js'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { Code } from '../aip/code.ts'
import { malformed, permissionDenied, StatusError } from '../aip/errors.ts'
import { doorsOfSuite } from '../testing/doors-of-suite.ts'
import { rawClient } from '../testing/raw-http.ts'
import type { Envelope } from '../wire/envelope.ts'
import type { Reply } from '../wire/reply.ts'
import { asJson } from '../wire/reply.ts'
import type { StreamClient } from './streams.ts'
import { openStreams } from './streams.ts'

const { grpcPath } = describeMethod(AdvisoriesService.method.exportAdvisoriesOsv)
const path = '/vulnerabilities/v2beta1/advisories:osv'
const callHeaders = {
  ...{ ':method': 'POST', ':path': grpcPath, 'content-type': 'application/grpc', te: 'trailers' },
}
const noBytes = Buffer.alloc(0)
const asIs = (bytes: Buffer) => bytes

const documentReply = (document: { [name: string]: string | number }): Reply => ({
  json: () => asJson(JSON.stringify(document)),
  bytes: () => toBinary(StructSchema, fromJson(StructSchema, document)),
})

const largeSize = 256 * 1024
const largeReply = documentReply({ text: 'x'.repeat(largeSize) })

/** A stream that never ends by itself, with the number of documents requested from it and the error that ended it. */
function endless() {
  const { promise: ended, resolve } = Promise.withResolvers<unknown>()
  const flow = { requested: 0, ended }
  async function* documents(): AsyncGenerator<Reply, void, void> {
    try {
      for (;;) {
        flow.requested++
        await nextTurn()
        yield largeReply
      }
    } catch (error) {
      resolve(error)
      throw error
    } finally {
      resolve(undefined)
    }
  }
  return { flow, documents }
}

/** Waits until the count is not 0 and has not changed for 150 ms, and returns it. */
async function settled(count: () => number): Promise<number> {
  for (let before = -1; before !== count() || before === 0; await pause(150)) before = count()
  return count()
}

/** To be called in a suite. Opens doors and makes streaming calls, and closes all of them after each test. */
function callsOfSuite() {
  const { closers, openDoor } = doorsOfSuite()

  async function get(
    port: number,
    method = 'GET',
  ): Promise<{ sent: ClientRequest; response: IncomingMessage }> {
    const sent = request({ port, path, method }).end()
    sent.on('error', () => {})
    closers.push(() => sent.destroy())
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.on('error', () => {})
    return { sent, response }
  }

  function callGrpc(port: number, timeoutMs?: number): ClientReadableStream<Buffer> {
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
    closers.push(() => client.close())
    const options = timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs }
    const call = client.makeServerStreamRequest(grpcPath, asIs, asIs, noBytes, new Metadata(), options)
    call.on('error', () => {})
    return call
  }

  /**
   * Makes a call and reads only the headers of its response. Uses plain HTTP/2, because the client of grpc-js would read
   * ahead.
   */
  async function callAndPause(
    port: number,
    extraHeaders: OutgoingHttpHeaders = {},
  ): Promise<ClientHttp2Stream> {
    const session = connect(`http://127.0.0.1:${port}`)
    session.on('error', () => {})
    closers.push(() => session.destroy())
    const stream = session.request({ ...callHeaders, ...extraHeaders })
    stream.on('error', () => {})
    stream.end(Buffer.alloc(5))
    await once(stream, 'response')
    return stream.pause()
  }

  return { openDoor, get, callGrpc, callAndPause }
}

const codeOf = async (call: ClientReadableStream<Buffer>) => {
  const { promise, resolve } = Promise.withResolvers<number>()
  call.on('error', ({ code }: ServiceError) => resolve(code))
  call.on('end', () => resolve(0))
  return promise
}

const isCancelled = (error: unknown) => error instanceof StatusError && error.code === Code.CANCELLED

describe('a stream', () => {
  const { openDoor, get, callGrpc } = callsOfSuite()

  async function* threeReplies(): AsyncGenerator<Reply, void, void> {
    for (const number of [1, 2, 3]) yield documentReply({ number })
  }

  test('is sent as lines over REST and as messages over gRPC', async () => {
    const { port } = await openDoor({ documents: threeReplies })
    const { response } = await get(port)
    assert.equal(response.statusCode, 200)
    assert.equal(response.headers['content-type'], 'application/jsonl')
    assert.equal(response.headers['cache-control'], 'no-store')
    assert.equal((await response.toArray()).join(''), '{"number":1}\n{"number":2}\n{"number":3}\n')
    assert.equal((await callGrpc(port).toArray()).length, 3)
  })

  test('may be empty', async () => {
    const { port } = await openDoor({})
    const { response } = await get(port)
    assert.equal(response.statusCode, 200)
    assert.equal((await response.toArray()).join(''), '')
    assert.equal((await callGrpc(port).toArray()).length, 0)
  })

  test('sends only headers for HEAD, and the connection can be used again', async () => {
    const { flow, documents } = endless()
    const { port } = await openDoor({ documents })
    const client = await rawClient(port)
    const send = (verb: string, target: string) =>
      client.send(`${verb} ${target} HTTP/1.1\r\nHost: door.test\r\n\r\n`)
    send('HEAD', path)
    const head = await client.response(true)
    assert.equal(head.status, 200)
    assert.equal(head.headers.get('content-type'), 'application/jsonl')
    assert.equal(await flow.ended, undefined, 'the generator ended without an error')
    send('GET', '/healthz')
    assert.equal((await client.response()).body, 'ok\n')
    client.close()
  })

  test('that fails before its first document returns an ordinary error', async () => {
    // biome-ignore lint/correctness/useYield: it throws first.
    async function* documents(): AsyncGenerator<Reply, void, void> {
      throw permissionDenied('advisories.list', '')
    }
    const { port } = await openDoor({ documents })
    const { response } = await get(port)
    assert.equal(response.statusCode, 403)
    assert.equal(response.headers['content-type'], 'application/json')
    assert.match((await response.toArray()).join(''), /"code":7/)
    assert.equal(await codeOf(callGrpc(port).resume()), 7)
  })

  test('that fails after its first document never looks complete', async () => {
    async function* documents(): AsyncGenerator<Reply, void, void> {
      yield documentReply({ number: 1 })
      throw malformed('no more')
    }
    const { port } = await openDoor({ documents })
    const { response } = await get(port)
    await assert.rejects(response.toArray(), { code: 'ECONNRESET' })
    const call = callGrpc(port)
    assert.equal(await codeOf(call.resume()), 3)
  })

  test('that fails after its first document never looks complete under TLS', async () => {
    async function* documents(): AsyncGenerator<Reply, void, void> {
      yield documentReply({ number: 1 })
      throw malformed('no more')
    }
    const { port } = await openDoor({ documents, isTls: true })
    const client = await rawClient(port, true)
    client.send(`GET ${path} HTTP/1.1\r\nHost: door.test\r\n\r\n`)
    assert.doesNotMatch(String(await client.remainingBytes()), /\r\n0\r\n/)
    client.close()
  })

  test('is rejected over HTTP/1.0, where an incomplete response looks complete', async () => {
    const { port } = await openDoor({ documents: threeReplies })
    const client = await rawClient(port)
    client.send(`GET ${path} HTTP/1.0\r\nHost: door.test\r\n\r\n`)
    const response = await client.response()
    assert.equal(response.status, 505)
    assert.match(response.json().message, /HTTP\/1\.1/)
    client.close()
  })

  test('times out at the deadline that its caller sets, and after one hour by default', async () => {
    const timeouts: number[] = []
    async function* documents({ envelope }: { envelope: Envelope }): AsyncGenerator<Reply, void, void> {
      timeouts.push(envelope.timeout)
      yield documentReply({})
    }
    const { port } = await openDoor({ documents })
    await (await get(port)).response.resume().toArray()
    await codeOf(callGrpc(port).resume())
    await codeOf(callGrpc(port, 100_000).resume())
    const [rest = 0, grpc = 0, limited = 0] = timeouts
    assert.equal(rest, 3_600_000)
    assert.ok(grpc > 3_590_000 && grpc <= 3_600_000, String(grpc))
    assert.ok(limited > 60_000 && limited <= 100_000, String(limited))
  })
})

describe('a slow client', () => {
  const { openDoor, get, callAndPause } = callsOfSuite()

  test('is sent a document only after it has read the previous one', async () => {
    const { flow, documents } = endless()
    const streams = openStreams<undefined>(documents, Date.now)
    const envelope = { timeout: 60_000 } as Envelope
    const events: string[] = []
    let finishWrite = () => {}
    let disconnect = () => {}
    const client: StreamClient = {
      open: () => events.push('open') > 0,
      write(_, onWritten) {
        events.push('write')
        finishWrite = onWritten
      },
      end: () => void events.push('end'),
      fail: ({ code }) => void events.push(`fail ${code}`),
      onDisconnect(listener) {
        disconnect = listener
      },
    }
    const running = streams.run(client, undefined, envelope, () => Promise.reject())
    for (let written = 1; written <= 5; written++) {
      for (let turns = 0; turns < 20; turns++) await nextTurn()
      assert.equal(flow.requested, written)
      if (written < 5) finishWrite()
    }
    disconnect()
    await running
    assert.ok(isCancelled(await flow.ended))
    assert.equal(flow.requested, 5)
    assert.deepEqual(events, ['open', ...Array(5).fill('write'), 'fail 1'])
  })

  test('over REST gets only what fits in the socket buffers, and ends the stream by disconnecting', async () => {
    const { flow, documents } = endless()
    const { port } = await openDoor({ documents })
    const { response } = await get(port)
    response.pause()
    const requested = await settled(() => flow.requested)
    // The operating system enlarges the socket buffers of a connection while data flows, so the bound is generous.
    assert.ok(requested * largeSize < 64 * 1024 * 1024, `${requested} documents were requested`)
    response.destroy()
    assert.ok(isCancelled(await flow.ended))
    assert.ok(flow.requested <= requested + 1)
  })

  test('over gRPC gets only what fits in its flow-control window, and ends the stream by disconnecting', async () => {
    const { flow, documents } = endless()
    const { port } = await openDoor({ documents })
    const stream = await callAndPause(port)
    // The window is smaller than a document, so the first write does not finish.
    assert.equal(await settled(() => flow.requested), 1)
    stream.close(constants.NGHTTP2_CANCEL)
    assert.ok(isCancelled(await flow.ended))
    assert.equal(flow.requested, 1)
  })

  test('that reads nothing is disconnected after the idle timeout', async () => {
    // 20 times as fast as real time, because a client of REST also gets 26 seconds for a document of this size.
    const now = () => Date.now() * 20
    for (const start of [async (port: number) => (await get(port)).response.pause(), callAndPause]) {
      const { flow, documents } = endless()
      const { port } = await openDoor({ documents, now, timeoutsMs: { idle: 500 } })
      await start(port)
      assert.ok(isCancelled(await flow.ended))
    }
  })

  test('gets the error of its deadline, even if the timer for it fires 1 ms early', async () => {
    const { flow, documents } = endless()
    let time = 0
    let disconnect = () => {}
    const codes: Code[] = []
    const client: StreamClient = {
      open: () => true,
      write() {
        time = 299
        disconnect()
      },
      end: () => {},
      fail: ({ code }) => void codes.push(code),
      onDisconnect(listener) {
        disconnect = listener
      },
    }
    const streams = openStreams<undefined>(documents, () => time)
    await streams.run(client, undefined, { timeout: 300 } as Envelope, () => Promise.reject())
    const error = await flow.ended
    assert.ok(error instanceof StatusError && error.code === Code.DEADLINE_EXCEEDED, String(error))
    assert.deepEqual(codes, [Code.DEADLINE_EXCEEDED])
  })

  test('over gRPC gets an error at its deadline', async () => {
    const { flow, documents } = endless()
    const { port } = await openDoor({ documents })
    const stream = await callAndPause(port, { 'grpc-timeout': '300m' })
    stream.resume()
    const [trailers] = await once(stream, 'trailers')
    assert.equal(trailers['grpc-status'], String(Code.DEADLINE_EXCEEDED))
    const error = await flow.ended
    assert.ok(error instanceof StatusError && error.code === Code.DEADLINE_EXCEEDED, String(error))
  })
})

describe('a stopping server', () => {
  const { openDoor, get, callGrpc } = callsOfSuite()

  test('aborts streams with an error', async () => {
    const { flow, documents } = endless()
    const door = await openDoor({ documents })
    const { response } = await get(door.port)
    const body = response.resume().toArray()
    const call = callGrpc(door.port).resume()
    const code = codeOf(call)
    await once(call, 'data')
    door.streams.abortAll()
    await assert.rejects(body, { code: 'ECONNRESET' })
    assert.equal(await code, Code.UNAVAILABLE)
    const error = await flow.ended
    assert.ok(error instanceof StatusError && error.code === Code.UNAVAILABLE)
    const { response: late } = await get(door.port)
    assert.equal(late.statusCode, 503)
  })
})
