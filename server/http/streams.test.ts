// Streams through both doors: what clients see of them, and what slow, gone and stopping ends cost.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { request } from 'node:http'
import type { ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { connect, constants } from 'node:http2'
import { afterEach, describe, test } from 'node:test'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { fromJson, toBinary } from '@bufbuild/protobuf'
import { StructSchema } from '@bufbuild/protobuf/wkt'
import type { ClientReadableStream, ServiceError } from '@grpc/grpc-js'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { Code } from '../aip/code.ts'
import { malformed, permissionDenied, StatusError } from '../aip/errors.ts'
import { rawClient } from '../testing/raw-http.ts'
import type { TestDoor, TestDoorOptions } from '../testing/test-door.ts'
import { openTestDoor } from '../testing/test-door.ts'
import type { Envelope } from '../wire/envelope.ts'
import type { Reply } from '../wire/reply.ts'
import { asJson } from '../wire/reply.ts'
import type { Client as Reader } from './streams.ts'
import { openStreams } from './streams.ts'

const { grpcPath } = describeMethod(AdvisoriesService.method.exportAdvisoriesOsv)
const path = '/vulnerabilities/v2beta1/advisories:osv'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close()
})

async function openDoor(options: TestDoorOptions): Promise<TestDoor> {
  const door = await openTestDoor(options)
  closers.push(() => door.close())
  return door
}

const documentReply = (document: { [name: string]: string | number }): Reply => ({
  json: () => asJson(JSON.stringify(document)),
  bytes: () => toBinary(StructSchema, fromJson(StructSchema, document)),
})

const size = 256 * 1024
const large = documentReply({ text: 'x'.repeat(size) })

/** Documents without end, how many were asked for, and how it ended after all. */
function endless() {
  const { promise: ended, resolve } = Promise.withResolvers<unknown>()
  const flow = { asked: 0, ended }
  async function* documents(): AsyncGenerator<Reply, void, void> {
    try {
      for (;;) {
        flow.asked++
        await turn()
        yield large
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

/** Once it has gone up and then not for a while. */
async function settled(count: () => number): Promise<number> {
  for (let before = -1; before !== count() || before === 0; await pause(150)) before = count()
  return count()
}

async function get(port: number, method = 'GET'): Promise<{ sent: ClientRequest; answer: IncomingMessage }> {
  const sent = request({ port, path, method }).end()
  sent.on('error', () => {})
  closers.push(() => sent.destroy())
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  answer.on('error', () => {})
  return { sent, answer }
}

function callGrpc(port: number, deadline?: number): ClientReadableStream<Buffer> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  closers.push(() => client.close())
  const asIs = (value: Buffer) => value
  const options = deadline === undefined ? {} : { deadline: Date.now() + deadline }
  const call = client.makeServerStreamRequest(grpcPath, asIs, asIs, Buffer.alloc(0), new Metadata(), options)
  call.on('error', () => {})
  return call
}

/** Over HTTP/2 as it is: the client of grpc-js reads ahead, whether or not anybody reads from it. */
async function callAndWait(port: number, more: OutgoingHttpHeaders = {}): Promise<ClientHttp2Stream> {
  const session = connect(`http://127.0.0.1:${port}`)
  session.on('error', () => {})
  closers.push(() => session.destroy())
  const headers = { ':method': 'POST', ':path': grpcPath, 'content-type': 'application/grpc', te: 'trailers' }
  const stream = session.request({ ...headers, ...more })
  stream.on('error', () => {})
  stream.end(Buffer.alloc(5))
  await once(stream, 'response')
  return stream.pause()
}

const codeOf = async (call: ClientReadableStream<Buffer>) => {
  const { promise, resolve } = Promise.withResolvers<number>()
  call.on('error', ({ code }: ServiceError) => resolve(code))
  call.on('end', () => resolve(0))
  return promise
}

const isCancelled = (error: unknown) => error instanceof StatusError && error.code === Code.CANCELLED

describe('a stream', () => {
  async function* three(): AsyncGenerator<Reply, void, void> {
    for (const number of [1, 2, 3]) yield documentReply({ number })
  }

  test('is lines over REST, and messages over gRPC', async () => {
    const { port } = await openDoor({ documents: three })
    const { answer } = await get(port)
    assert.equal(answer.statusCode, 200)
    assert.equal(answer.headers['content-type'], 'application/jsonl')
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal((await answer.toArray()).join(''), '{"number":1}\n{"number":2}\n{"number":3}\n')
    assert.equal((await callGrpc(port).toArray()).length, 3)
  })

  test('may be empty', async () => {
    const { port } = await openDoor({})
    const { answer } = await get(port)
    assert.equal(answer.statusCode, 200)
    assert.equal((await answer.toArray()).join(''), '')
    assert.equal((await callGrpc(port).toArray()).length, 0)
  })

  test('is not sent to whoever asks for its head, who leaves the connection as it was', async () => {
    const { flow, documents } = endless()
    const { port } = await openDoor({ documents })
    const client = await rawClient(port)
    const ask = (verb: string, at: string) => client.send(`${verb} ${at} HTTP/1.1\r\nHost: door.test\r\n\r\n`)
    ask('HEAD', path)
    const head = await client.response(true)
    assert.equal(head.status, 200)
    assert.equal(head.headers.get('content-type'), 'application/jsonl')
    assert.equal(await flow.ended, undefined, 'it was enough')
    ask('GET', '/healthz')
    assert.equal((await client.response()).body, 'ok\n')
    client.close()
  })

  test('that fails before its first document is an ordinary error', async () => {
    // biome-ignore lint/correctness/useYield: it does not come to that.
    async function* documents(): AsyncGenerator<Reply, void, void> {
      throw permissionDenied('advisories.list', '')
    }
    const { port } = await openDoor({ documents })
    const { answer } = await get(port)
    assert.equal(answer.statusCode, 403)
    assert.equal(answer.headers['content-type'], 'application/json')
    assert.match((await answer.toArray()).join(''), /"code":7/)
    assert.equal(await codeOf(callGrpc(port).resume()), 7)
  })

  test('that fails later never looks whole', async () => {
    async function* documents(): AsyncGenerator<Reply, void, void> {
      yield documentReply({ number: 1 })
      throw malformed('no more')
    }
    const { port } = await openDoor({ documents })
    const { answer } = await get(port)
    await assert.rejects(answer.toArray(), { code: 'ECONNRESET' })
    const call = callGrpc(port)
    assert.equal(await codeOf(call.resume()), 3)
  })

  test('that fails later never looks whole under TLS', async () => {
    async function* documents(): AsyncGenerator<Reply, void, void> {
      yield documentReply({ number: 1 })
      throw malformed('no more')
    }
    const { port } = await openDoor({ documents, isTls: true })
    const client = await rawClient(port, true)
    client.send(`GET ${path} HTTP/1.1\r\nHost: door.test\r\n\r\n`)
    assert.doesNotMatch(String(await client.rest()), /\r\n0\r\n/)
    client.close()
  })

  test('is refused before HTTP/1.1, where a part would pass for all of it', async () => {
    const { port } = await openDoor({ documents: three })
    const client = await rawClient(port)
    client.send(`GET ${path} HTTP/1.0\r\nHost: door.test\r\n\r\n`)
    const answer = await client.response()
    assert.equal(answer.status, 505)
    assert.match(answer.json().message, /HTTP\/1\.1/)
    client.close()
  })

  test('has the deadline that its caller sets, and one of its own', async () => {
    const timeouts: number[] = []
    async function* documents({ envelope }: { envelope: Envelope }): AsyncGenerator<Reply, void, void> {
      timeouts.push(envelope.timeout)
      yield documentReply({})
    }
    const { port } = await openDoor({ documents })
    await (await get(port)).answer.resume().toArray()
    await codeOf(callGrpc(port).resume())
    await codeOf(callGrpc(port, 100_000).resume())
    const [rest = 0, grpc = 0, limited = 0] = timeouts
    assert.equal(rest, 3_600_000)
    assert.ok(grpc > 3_590_000 && grpc <= 3_600_000, String(grpc))
    assert.ok(limited > 60_000 && limited <= 100_000, String(limited))
  })
})

describe('a client that does not keep up', () => {
  test('is sent a document only when it has taken the one before', async () => {
    const { flow, documents } = endless()
    const streams = openStreams<undefined>(documents)
    const envelope = { timeout: 60_000 } as Envelope
    const events: string[] = []
    let take = () => {}
    let leave = () => {}
    const reader: Reader = {
      open: () => events.push('open') > 0,
      write(_, onWritten) {
        events.push('write')
        take = onWritten
      },
      end: () => void events.push('end'),
      fail: ({ code }) => void events.push(`fail ${code}`),
      onGone(listener) {
        leave = listener
      },
    }
    const running = streams.run(reader, undefined, envelope, () => Promise.reject())
    for (let taken = 1; taken <= 5; taken++) {
      for (let turns = 0; turns < 20; turns++) await turn()
      assert.equal(flow.asked, taken)
      if (taken < 5) take()
    }
    leave()
    await running
    assert.ok(isCancelled(await flow.ended))
    assert.equal(flow.asked, 5)
    assert.deepEqual(events, ['open', ...Array(5).fill('write'), 'fail 1'])
  })

  test('over REST fills what lies between and no more, and its leaving ends the work', async () => {
    const { flow, documents } = endless()
    const { port } = await openDoor({ documents })
    const { answer } = await get(port)
    answer.pause()
    const asked = await settled(() => flow.asked)
    // What the buffers of the machine hold, which grow with the connection.
    assert.ok(asked * size < 64 * 1024 * 1024, `${asked} were asked for`)
    answer.destroy()
    assert.ok(isCancelled(await flow.ended))
    assert.ok(flow.asked <= asked + 1)
  })

  test('over gRPC fills its window and no more, and its leaving ends the work', async () => {
    const { flow, documents } = endless()
    const { port } = await openDoor({ documents })
    const stream = await callAndWait(port)
    // The window is smaller than a document.
    assert.equal(await settled(() => flow.asked), 1)
    stream.close(constants.NGHTTP2_CANCEL)
    assert.ok(isCancelled(await flow.ended))
    assert.equal(flow.asked, 1)
  })

  test('and takes nothing at all is cut off', async () => {
    for (const start of [async (port: number) => (await get(port)).answer.pause(), callAndWait]) {
      const { flow, documents } = endless()
      const { port } = await openDoor({ documents, limits: { stall: 500 } })
      await start(port)
      assert.ok(isCancelled(await flow.ended))
    }
  })

  test('over gRPC is cut off at its deadline', async () => {
    const { flow, documents } = endless()
    const { port } = await openDoor({ documents })
    const stream = await callAndWait(port, { 'grpc-timeout': '300m' })
    stream.resume()
    const [trailers] = await once(stream, 'trailers')
    assert.equal(trailers['grpc-status'], String(Code.DEADLINE_EXCEEDED))
    const error = await flow.ended
    assert.ok(error instanceof StatusError && error.code === Code.DEADLINE_EXCEEDED, String(error))
  })
})

describe('a server that stops', () => {
  test('breaks streams off so that everybody sees it', async () => {
    const { flow, documents } = endless()
    const door = await openDoor({ documents })
    const { answer } = await get(door.port)
    const whole = answer.resume().toArray()
    const call = callGrpc(door.port).resume()
    const code = codeOf(call)
    await once(call, 'data')
    door.streams.cut()
    await assert.rejects(whole, { code: 'ECONNRESET' })
    assert.equal(await code, Code.UNAVAILABLE)
    const error = await flow.ended
    assert.ok(error instanceof StatusError && error.code === Code.UNAVAILABLE)
    const { answer: late } = await get(door.port)
    assert.equal(late.statusCode, 503)
  })
})
