// REST and gRPC on one port, without and with TLS, called by third-party clients.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { get as httpGet } from 'node:http'
import { get as httpsGet } from 'node:https'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { connect } from 'node:tls'
import { fromBinary } from '@bufbuild/protobuf'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { ListGroupsResponseSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { certFile, keyFile, testTls } from '../../server/testing/tls.ts'

const service = 'platform.iam.v2beta1.GroupsService'
const buf = join(dirname(createRequire(import.meta.url).resolve('@bufbuild/buf/package.json')), 'bin/buf')

type Run = { code: number; stdout: string; stderr: string }

/** buf curl: a gRPC client that reads the contract by reflection. */
function bufCurl(...args: string[]): Promise<Run> {
  // Outside the checkout, so that buf cannot read our proto files.
  const options = { cwd: tmpdir(), env: { ...process.env, BUF_CACHE_DIR: join(tmpdir(), 'stemma-buf') } }
  return new Promise((resolve) => {
    execFile(process.execPath, [buf, 'curl', ...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
  })
}

for (const isTls of [false, true]) {
  describe(isTls ? 'one port with TLS' : 'one port without TLS', () => {
    let platform: Platform
    before(async () => {
      const tls = ['--tls-cert', certFile, '--tls-key', keyFile, '--base-url', 'https://stemma.test']
      platform = await startPlatform('sqlite', isTls ? tls : [])
    })
    after(() => platform.stop())

    test('serves REST', async () => {
      const headers = { authorization: `Bearer ${platform.owner.token}` }
      const url = `${platform.url}/iam/v2beta1/groups`
      const request = isTls ? httpsGet(url, { headers, ca: testTls.cert }) : httpGet(url, { headers })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      assert.equal(response.statusCode, 200)
      assert.equal('strict-transport-security' in response.headers, isTls)
      const body = JSON.parse(Buffer.concat(await response.toArray()).toString())
      assert.equal(body.totalCount, '1')
    })

    test('serves gRPC', async () => {
      const channelCredentials = isTls
        ? credentials.createSsl(Buffer.from(testTls.cert))
        : credentials.createInsecure()
      const client = new Client(`localhost:${platform.app.port}`, channelCredentials)
      const metadata = new Metadata()
      metadata.set('authorization', `Bearer ${platform.owner.token}`)
      const asIs = (bytes: Buffer) => bytes
      const bytes = await new Promise<Buffer>((resolve, reject) => {
        client.makeUnaryRequest(
          `/${service}/ListGroups`,
          asIs,
          asIs,
          Buffer.of(),
          metadata,
          (error, reply) => (error ? reject(error) : resolve(reply as Buffer)),
        )
      })
      client.close()
      assert.equal(fromBinary(ListGroupsResponseSchema, bytes).totalCount, 1n)
    })

    // Without --http2-prior-knowledge, buf offers HTTP/1.1 as well, and the server would choose it.
    const flags = ['--protocol', 'grpc', '--http2-prior-knowledge', ...(isTls ? ['--cacert', certFile] : [])]

    test('lists its services to buf curl', async () => {
      const services = await bufCurl(...flags, '--list-services', platform.url)
      assert.equal(services.code, 0, services.stderr)
      assert.ok(services.stdout.trim().split('\n').includes(service))
      assert.doesNotMatch(services.stdout, /chainguard|\.v2\./, 'an alternative name is listed')
      const methods = await bufCurl(...flags, '--list-methods', platform.url)
      assert.match(methods.stdout, /GroupsService\/ListGroups/)
    })

    test('answers buf curl', async () => {
      const dataFlag = [
        '-d',
        JSON.stringify({ parent: platform.owner.organization, group: { name: 'from-buf' } }),
      ]
      const tokenFlag = ['-H', `Authorization: Bearer ${platform.owner.token}`]
      const made = await bufCurl(
        ...flags,
        ...dataFlag,
        ...tokenFlag,
        `${platform.url}/${service}/CreateGroup`,
      )
      assert.equal(made.code, 0, made.stderr)
      assert.equal(JSON.parse(made.stdout).name, 'from-buf')
    })

    test('returns errors with details to buf curl', async () => {
      const refused = await bufCurl(...flags, `${platform.url}/${service}/ListGroups`)
      // The exit code of buf curl is the gRPC code times eight.
      const unauthenticated = 16
      assert.equal(refused.code, unauthenticated << 3, refused.stderr)
      const { code, message, details } = JSON.parse(refused.stderr)
      assert.equal(code, 'unauthenticated')
      assert.match(message, /^Unauthenticated: /)
      assert.equal(details[0].type, 'google.rpc.ErrorInfo')
    })
  })
}

describe('ALPN', () => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform('sqlite', ['--tls-cert', certFile, '--tls-key', keyFile])
  })
  after(() => platform.stop())

  async function shakeHands(offered: string[] | undefined): Promise<TLSSocket> {
    const offer = offered ? { ALPNProtocols: offered } : {}
    const socket = connect({ port: platform.app.port, host: '127.0.0.1', ca: testTls.cert, ...offer })
    await once(socket, 'secureConnect')
    return socket
  }

  const cases: [offered: string[] | undefined, chosen: string | false][] = [
    [['h2', 'http/1.1'], 'http/1.1'],
    [['http/1.1', 'h2'], 'http/1.1'],
    [['http/1.1'], 'http/1.1'],
    [['h2'], 'h2'],
    [undefined, false],
  ]
  for (const [offered, chosen] of cases) {
    test(`chooses ${chosen || 'HTTP/1.1'} if the client offers ${offered?.join(' and ') ?? 'nothing'}`, async () => {
      const socket = await shakeHands(offered)
      assert.equal(socket.alpnProtocol, chosen)
      if (chosen !== 'h2') {
        socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
        const [answer] = (await once(socket, 'data')) as [Buffer]
        assert.match(answer.toString(), /^HTTP\/1\.1 200 /)
      }
      socket.destroy()
    })
  }

  test('refuses a client that offers only unknown protocols', async () => {
    await assert.rejects(shakeHands(['spdy/3']))
  })
})
