// A request whose client disconnects before it has sent the whole body is logged as cancelled, never as an error of the
// server.
import assert from 'node:assert/strict'
import { connect, constants } from 'node:http2'
import { after, before, beforeEach, test } from 'node:test'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import type { RawClient } from '../../server/testing/raw-http.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { addScimProvider } from '../scim/scim-platform.ts'
import type { CapturedLog } from '../server/captured-log.ts'
import { captureLog } from '../server/captured-log.ts'

type Line = { level: number; method?: string; code?: string; status?: number; msg: string }

const warningLevel = 40
const maxCalls = 3

onEachStore('a client that disconnects in the middle of a body', (engine) => {
  let platform: Platform
  let captured: CapturedLog
  before(async () => {
    captured = captureLog('info')
    platform = await startPlatform(engine, ['--max-calls-per-caller', String(maxCalls)], {}, captured.log)
  })
  beforeEach(() => void captured.written.splice(0))
  after(() => platform.stop())

  const lines = () =>
    captured.written
      .join('')
      .split('\n')
      .filter((line) => line !== '')
      .map((line): Line => JSON.parse(line))

  /** Sends the head of a request, and returns when the server has begun to read the body. */
  const startBody = (path: string, ...headers: string[]) => startBodyAs(platform.owner, path, ...headers)

  async function startBodyAs(
    { token }: { token: string },
    path: string,
    ...headers: string[]
  ): Promise<RawClient> {
    const client = await rawClient(platform.app.port)
    client.send(
      [
        `POST ${path} HTTP/1.1`,
        'Host: stemma.test',
        `Authorization: Bearer ${token}`,
        'Expect: 100-continue',
        ...headers,
        '',
        '',
      ].join('\r\n'),
    )
    assert.equal((await client.response()).status, 100)
    return client
  }

  /** Waits until a line is logged. Between checks, a request to /healthz gives the server time to proceed. */
  async function logged(isWanted: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      const line = lines().find(isWanted)
      if (line) return line
      await fetch(`${platform.url}/healthz`)
    }
  }

  const loggedCode = async (name: string) =>
    (await logged(({ method, code }) => code !== undefined && method?.endsWith(name) === true)).code

  const waysToDisconnect: Record<string, (client: RawClient) => void> = {
    'by a reset': ({ socket }) => void socket.resetAndDestroy(),
    'by closing the connection': ({ socket }) => void socket.destroy(),
    'by closing its side of the connection': ({ socket }) => void socket.end(),
  }

  for (const [how, disconnect] of Object.entries(waysToDisconnect)) {
    test(`is logged as cancelled if it disconnects ${how}`, async () => {
      const bodies = {
        'Content-Length: 100': '{"name": "a',
        'Transfer-Encoding: chunked': '20\r\n{"name": "a',
      }
      for (const [header, part] of Object.entries(bodies)) {
        captured.written.splice(0)
        const client = await startBody(`/iam/v2beta1/groups/${platform.owner.organization}`, header)
        client.send(part)
        disconnect(client)
        assert.equal(await loggedCode('CreateGroup'), 'CANCELLED')
        assert.deepEqual(
          lines().filter(({ level }) => level >= warningLevel),
          [],
        )
        client.close()
      }
    })
  }

  test('is logged as cancelled in SCIM', async () => {
    const scim = await addScimProvider(platform, platform.owner)
    for (const disconnect of Object.values(waysToDisconnect)) {
      captured.written.splice(0)
      const headers = ['Content-Type: application/scim+json', 'Content-Length: 100']
      const client = await startBodyAs(scim, `/scim/v2/${scim.uid}/Users`, ...headers)
      client.send('{"userName": "a')
      disconnect(client)
      assert.equal((await logged(({ msg }) => msg === 'SCIM request')).status, 499)
      assert.deepEqual(
        lines().filter(({ level }) => level >= warningLevel),
        [],
      )
      client.close()
    }
  })

  for (const [path, method] of [
    ['/iam/v2beta1/groups', 'CreateGroup'],
    ['/access/v1/evaluation', 'CheckAccess'],
  ] as const) {
    test(`leaves no running call behind if it disconnects during authentication: POST ${path}`, async () => {
      const { identity, organization } = platform.owner
      for (let times = 0; times < 10 * maxCalls; times++) {
        captured.written.splice(0)
        const client = await rawClient(platform.app.port)
        client.send(
          [
            `POST ${path}${method === 'CreateGroup' ? `/${organization}` : ''} HTTP/1.1`,
            'Host: stemma.test',
            // A new token: tokens that the server has verified before cause no delay.
            `Authorization: Bearer ${await platform.tokenOf(identity)}`,
            'Content-Type: application/json',
            'Content-Length: 100',
            '',
            '{"name": "a',
          ].join('\r\n'),
        )
        client.close()
        assert.equal(await loggedCode(method), 'CANCELLED')
      }
      const headers = { authorization: `Bearer ${platform.owner.token}` }
      assert.equal((await fetch(`${platform.url}/iam/v2beta1/groups`, { headers })).status, 200)
    })
  }

  test('causes no warning in the token exchange and in sign-in', async () => {
    // Sign-in logs nothing about it, so the exchange comes last: once it is logged, the server has handled both.
    for (const path of ['/oauth/token', '/sts/exchange']) {
      const form = 'Content-Type: application/x-www-form-urlencoded'
      const client = await startBody(path, form, 'Content-Length: 100')
      client.send('grant_type=')
      client.socket.resetAndDestroy()
    }
    assert.equal(await loggedCode('Exchange'), 'CANCELLED')
    assert.deepEqual(
      lines().filter(({ level }) => level >= warningLevel),
      [],
    )
  })

  test('causes no warning over gRPC', async () => {
    const session = connect(platform.url)
    const stream = session.request({
      ':method': 'POST',
      ':path': `/${GroupsService.typeName}/CreateGroup`,
      'content-type': 'application/grpc',
      te: 'trailers',
      authorization: `Bearer ${platform.owner.token}`,
    })
    stream.on('error', () => {})
    const messageLength = 100
    await new Promise((resolve) => stream.write(Buffer.from([0, 0, 0, 0, messageLength, 1, 2]), resolve))
    stream.close(constants.NGHTTP2_CANCEL)
    await new Promise((resolve) => stream.once('close', resolve))
    // The ping is answered only after the server has received the cancellation, which was sent before it.
    await new Promise<void>((resolve) => session.ping(() => resolve()))
    session.destroy()
    await fetch(`${platform.url}/healthz`)
    assert.deepEqual(
      lines().filter(({ level }) => level >= warningLevel),
      [],
    )
  })
})
