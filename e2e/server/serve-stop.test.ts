// Graceful shutdown: the server turns unready, finishes running calls and exits.
import assert from 'node:assert/strict'
import type { ClientHttp2Session } from 'node:http2'
import { connect } from 'node:http2'
import { after, afterEach, before, describe, test } from 'node:test'
import { create, toBinary } from '@bufbuild/protobuf'
import { CreateGroupRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { readConfig } from '../../server/config/config.ts'
import { openStore } from '../../server/storage.ts'
import { sql } from '../../server/store/sql.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import type { Bootstrapped, RunningServer } from './stemmad.ts'
import { bootstrap, pause, remove, serve, statusOf, temporaryFolder, until } from './stemmad.ts'

const service = '/platform.iam.v2beta1.GroupsService'
const timeout = { timeout: 600_000 }

describe('a server that receives a signal', timeout, () => {
  let folder: string
  let owner: Bootstrapped
  let server: RunningServer
  before(async () => {
    folder = await temporaryFolder()
    owner = await bootstrap(folder)
  })
  after(() => remove(folder))
  afterEach(async () => {
    server.signal('SIGKILL', true)
    await server.exited
  })

  let nameCount = 0
  const newName = () => `made-${process.hrtime.bigint()}-${nameCount++}`
  const createRequest = (name: string, requestId = 'none') => {
    const body = JSON.stringify({ name })
    return [
      `POST /iam/v2beta1/groups/${owner.organization.uid} HTTP/1.1`,
      'Host: stemma.test',
      `Authorization: Bearer ${owner.token}`,
      `X-Request-Id: ${requestId}`,
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n')
  }

  async function storedNames(): Promise<Set<unknown>> {
    const { config } = readConfig({}, ['--data-dir', `${folder}/data`])
    const store = openStore(config)
    const rows = await store.query(sql`select name from groups`)
    await store.close()
    return new Set(rows.map(([name]) => name))
  }

  const readiness = () => statusOf(`${server.url}/readyz`).catch(() => 0)

  test('answers every accepted call on SIGTERM, and loses no acknowledged write', async () => {
    const drainDelay = 10
    server = await serve(folder, ['--drain-delay', String(drainDelay)])
    let isStopping = false
    /** Until then, clients that reconnect pause between their calls, because only the calls at the end can be lost. */
    let pausesUntil = 0
    const acknowledged: string[] = []

    /** A client that honours `Connection: close`. */
    async function reuseConnection(): Promise<void> {
      while (!isStopping) {
        const client = await rawClient(server.port)
        for (let isOpen = true; isOpen; ) {
          const name = newName()
          client.send(createRequest(name))
          const answer = await client.response()
          assert.equal(answer.status, 200)
          acknowledged.push(name)
          isOpen = answer.headers.get('connection') !== 'close'
          if (!isOpen) assert.equal((await client.remainingBytes()).length, 0)
        }
        client.close()
      }
    }

    const answered = new Set<string>()
    /** A client that opens new connections until the port is closed. */
    async function reconnect(): Promise<void> {
      for (let isOpen = true; isOpen; ) {
        const name = newName()
        try {
          const client = await rawClient(server.port)
          client.send(createRequest(name, name))
          const { status } = await client.response()
          client.close()
          answered.add(name)
          if (status === 200) acknowledged.push(name)
          if (performance.now() < pausesUntil) await pause(100)
        } catch {
          isOpen = (await readiness()) !== 0
        }
      }
    }

    const lateClient = await rawClient(server.port)
    const lateRequest = createRequest('late-rest')
    lateClient.send(lateRequest.slice(0, -5))
    const session = connect(server.url)
    const lateCall = startCall(session, owner.token)
    const load = [reuseConnection(), reuseConnection(), reuseConnection(), reconnect(), reconnect()]
    await pause(300)

    pausesUntil = performance.now() + (drainDelay - 1) * 1000
    server.signal('SIGTERM')
    await until(async () => {
      const status = await readiness()
      assert.notEqual(status, 0, 'the port was closed before the server was seen as unready')
      return status === 503
    })
    isStopping = true
    assert.equal(await healthOf(session), notServing)
    assert.equal(await statusOf(`${server.url}/healthz`), 200)
    await Promise.all(load)
    await until(async () => (await readiness()) === 0)

    // The port is closed, but calls that began earlier are still answered.
    lateClient.send(lateRequest.slice(-5))
    const answer = await lateClient.response()
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('connection'), 'close')
    lateCall.finish(owner.organization.uid, 'late-grpc')
    assert.equal(await lateCall.status, '0')
    lateClient.close()

    const { code, stderr } = await server.exited
    assert.equal(code, 0, stderr)
    session.destroy()
    const names = await storedNames()
    assert.ok(acknowledged.length > 20)
    for (const name of [...acknowledged, 'late-rest', 'late-grpc'])
      assert.ok(names.has(name), `${name} is lost`)
    const loggedNames = server
      .log()
      .map(({ requestId }) => String(requestId))
      .filter((id) => id.startsWith('made-'))
    assert.ok(loggedNames.length > 0)
    for (const name of loggedNames) assert.ok(answered.has(name), `${name} was accepted and not answered`)
  })

  test('turns unready in all workers at once, and still accepts writes', async () => {
    server = await serve(folder, ['--workers', '2', '--drain-delay', '600'])
    server.signal('SIGTERM')
    // Each request opens a connection, which any worker may accept.
    await until(async () => {
      for (let at = 0; at < 20; at++) if ((await readiness()) !== 503) return false
      return true
    })
    const name = newName()
    const client = await rawClient(server.port)
    client.send(createRequest(name))
    assert.equal((await client.response()).status, 200)
    client.close()
    assert.ok((await storedNames()).has(name))
  })

  test('skips the drain delay on Ctrl-C', async () => {
    server = await serve(folder, ['--drain-delay', '600'])
    server.signal('SIGINT')
    assert.equal((await server.exited).code, 0)
  })

  test('treats a signal to its whole process group as one signal', async () => {
    server = await serve(folder, ['--drain-delay', '1'])
    server.signal('SIGTERM', true)
    assert.equal((await server.exited).code, 0)
    assert.ok(server.log().some(({ msg }) => msg === 'stopping'))
  })

  for (const [first, second] of [
    ['SIGTERM', 'SIGTERM'],
    ['SIGTERM', 'SIGINT'],
  ] as const) {
    test(`exits at once on ${second} after ${first}`, async () => {
      server = await serve(folder, ['--drain-delay', '600'])
      server.signal(first)
      await until(async () => (await readiness()) === 503)
      // The server treats signals in quick succession as one, so the second is repeated until the server exits. It is
      // repeated slowly: a process that is exiting no longer handles signals, so a further signal would kill it and
      // change its exit code.
      const repeating = setInterval(() => server.signal(second), 1000)
      const { code } = await server.exited
      clearInterval(repeating)
      assert.equal(code, 1)
      assert.ok((await storedNames()).has('acme'))
    })
  }
})

/** The `ServingStatus` NOT_SERVING of grpc.health.v1. */
const notServing = 2

function healthOf(session: ClientHttp2Session): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
    })
    const chunks: Buffer[] = []
    stream.on('data', (chunk) => chunks.push(chunk))
    stream.on('error', reject)
    stream.on('end', () => resolve(Buffer.concat(chunks).at(-1)))
    stream.end(Buffer.alloc(5)) // the frame of an empty message
  })
}

/** Starts a gRPC call. Its request message is sent by `finish`. */
function startCall(session: ClientHttp2Session, token: string) {
  const stream = session.request({
    ':method': 'POST',
    ':path': `${service}/CreateGroup`,
    'content-type': 'application/grpc',
    authorization: `Bearer ${token}`,
  })
  stream.resume()
  const status = new Promise<unknown>((resolve, reject) => {
    stream.on('trailers', (trailers) => resolve(trailers['grpc-status']))
    stream.on('error', reject)
  })
  return {
    status,
    finish(parent: string, name: string) {
      const message = toBinary(
        CreateGroupRequestSchema,
        create(CreateGroupRequestSchema, { parent, group: { name } }),
      )
      const frameHeader = Buffer.alloc(5)
      frameHeader.writeUInt32BE(message.length, 1)
      stream.end(Buffer.concat([frameHeader, message]))
    },
  }
}
