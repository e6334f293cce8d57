// Clients that send too many requests, or do not read the responses, neither fill the memory of the server nor delay
// others. Assertions compare numbers of calls and bytes, never durations.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { roles } from '../../server/resources/iam/roles/table.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { CapturedLog } from '../server/captured-log.ts'
import { captureLog } from '../server/captured-log.ts'

const get = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: a', ...headers, '', ''].join('\r\n')
const groups = '/iam/v2beta1/groups'

onEachStore('floods of requests', (engine) => {
  let platform: Platform
  let captured: CapturedLog
  const sockets: Socket[] = []
  before(async () => {
    captured = captureLog('info')
    // The tests count refusals by their log lines, so every refusal must have one.
    const refusalLog = { maxLines: Number.POSITIVE_INFINITY, maxTotalLines: Number.POSITIVE_INFINITY }
    platform = await startPlatform(engine, [], { refusalLog }, captured.log)
  })
  beforeEach(() => void captured.written.splice(0))
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
  })
  after(() => platform.stop())

  /** Each flooder has its own address, so that none is slowed down because of the abuse of another. */
  let lastAddress = 1
  async function flooder(): Promise<Socket> {
    const localAddress = `127.0.1.${++lastAddress}`
    const socket = connect({ port: platform.app.port, host: '127.0.0.1', localAddress })
    socket.on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
    return socket
  }

  const list = () => get(groups, `Authorization: Bearer ${platform.owner.token}`)

  async function assertOthersAreAnswered(
    rounds: number,
    request = list(),
    onRound = () => {},
  ): Promise<void> {
    const client = await rawClient(platform.app.port)
    try {
      for (let round = 0; round < rounds; round++) {
        client.send(request)
        assert.equal((await client.response()).status, 200)
        onRound()
      }
    } finally {
      client.close()
    }
  }

  /** Makes calls as another client, which must be answered, until the condition holds. */
  async function until(isReached: () => boolean): Promise<void> {
    while (!isReached()) await assertOthersAreAnswered(20)
  }

  /** An organization whose list of roles has 170 KB, so that few responses fill the buffers of a connection. */
  async function addLargeRoles(): Promise<TestIdentity> {
    const identity = await platform.addOrganization('large')
    const description = 'x'.repeat(20_000)
    await platform.store.write(() =>
      createMany(
        roles,
        Array.from({ length: 8 }, (_, at) => [
          create(RoleSchema, { name: `role ${at}`, description }),
          { uid: `${identity.organization}/000000000000000${at}`, now: Date.now() },
        ]),
      ),
    )
    return identity
  }

  test('requests of a client that does not read are answered only until its buffers are full', async () => {
    const { token } = await addLargeRoles()
    const flood = await flooder()
    const sent = 60
    flood.write(get('/iam/v2beta1/roles', `Authorization: Bearer ${token}`).repeat(sent))
    const answeredCount = () => captured.written.filter((line) => line.includes('ListRoles')).length
    let count = -1
    await until(() => {
      const isStable = count === answeredCount()
      count = answeredCount()
      return isStable
    })
    assert.ok(count < sent, `all ${sent} requests were answered although no response was read`)
    flood.resume()
    await until(() => answeredCount() === sent)
  })

  // The requests of the other tests do not reach the store.
  if (engine !== 'sqlite') return

  for (const path of ['/nope', groups, '/healthz']) {
    test(`other clients are answered while ten connections pipeline ${path}`, async () => {
      const flooders = await Promise.all(Array.from({ length: 10 }, flooder))
      for (const socket of flooders) {
        socket.resume()
        socket.write(get(path).repeat(300))
      }
      // While another client makes one call, each flooder gets a few responses, not all of its
      // 300, which have about 60 KB. The call does not use the store, which can take many turns of the event loop.
      const received = () => flooders.reduce((bytes, { bytesRead }) => bytes + bytesRead, 0)
      let previous = received()
      await assertOthersAreAnswered(20, get('/healthz'), () => {
        const newBytes = received() - previous
        previous = received()
        assert.ok(newBytes <= 100_000, `${newBytes} bytes were received before another client was answered`)
      })
      await until(() => received() > 500_000)
    })
  }

  test('a client that sends thousands of requests at once after its first response is disconnected', async () => {
    const flood = await flooder()
    flood.write(get('/nope'))
    await once(flood, 'data')
    flood.write(get('/nope').repeat(2000))
    const closed = once(flood.resume(), 'close')
    await assertOthersAreAnswered(5)
    await closed
    const rejected = captured.written.filter((line) => line.includes('no such path')).length
    assert.ok(rejected <= 102, `${rejected} requests were answered`)
  })

  test('a connection with a thousand refusals in a row is closed', async () => {
    const flood = await flooder()
    flood.write(get(groups).repeat(3000))
    await once(flood.resume(), 'close')
    const refused = captured.written.filter((line) => line.includes('UNAUTHENTICATED')).length
    assert.equal(refused, 1001)
    await assertOthersAreAnswered(1)
  })
})

onEachStore('the log of a flood', (engine) => {
  test('has a limited number of lines for refusals of unknown callers, and one line with the number of further refusals', async () => {
    const captured = captureLog('info')
    const platform = await startPlatform(
      engine,
      [],
      { refusalLog: { maxLines: 10, periodMs: 1e9 } },
      captured.log,
    )
    const { token } = platform.owner
    const requests = ['/nope', groups, '/iam/v2beta1/groups/nope'].map((path) => get(path))
    const requestOfKnownCaller = get('/iam/v2beta1/groups/nope', `Authorization: Bearer ${token}`)
    const client = await rawClient(platform.app.port)
    for (let round = 0; round < 20; round++) {
      for (const request of [...requests, requestOfKnownCaller]) client.send(request)
      for (let count = 0; count < 4; count++) await client.response()
    }
    client.close()
    await platform.stop()
    const lines = captured.written.flatMap((text) => text.trim().split('\n')).map((line) => JSON.parse(line))
    const refusals = lines.filter(({ reason, caller }) => reason !== undefined && caller === undefined)
    assert.equal(refusals.length, 10)
    const summaries = lines.filter(({ msg }) => msg === 'requests refused')
    const counts = { NOT_FOUND: 0, UNAUTHENTICATED: 0 }
    for (const { counts: summary } of summaries)
      for (const code of ['NOT_FOUND', 'UNAUTHENTICATED'] as const) counts[code] += summary[code] ?? 0
    assert.equal(counts.NOT_FOUND + counts.UNAUTHENTICATED, 60 - 10)
    assert.equal(summaries.length, 1)
    assert.equal(summaries[0].network, '127.0.0.1')
    // The limit does not apply to a known caller: each refusal has a line.
    assert.equal(lines.filter(({ caller, code }) => caller !== undefined && code === 'NOT_FOUND').length, 20)
  })
})
