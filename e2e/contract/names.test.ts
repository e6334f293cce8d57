// Alternative names of methods: v2 instead of v2beta1, and vendor prefixes of published clients.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { PingService } from '@stemma/api/gen/platform/ping/ping_pb.ts'
import { Code } from '../../server/aip/code.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

const { createGroup, listGroups, deleteGroup } = GroupsService.method

const toV2 = (name: string) => name.replace(/([./])v2beta1([./])/, '$1v2$2')
const withVendorPrefix = (name: string) => `chainguard.${name}`

onEachStore('calls under other names', (engine) => {
  let platform: Platform
  let doors: Record<string, Door> = {}
  before(async () => {
    platform = await startPlatform(engine, ['--cors-origins', 'https://console.test'])
    const { url } = platform
    doors = {
      'REST of v2beta1': restDoor(url),
      'REST of v2': restDoor(url, toV2),
      'gRPC of v2beta1': grpcDoor(url),
      'gRPC of v2': grpcDoor(url, toV2),
      'gRPC with a vendor prefix': grpcDoor(url, withVendorPrefix),
      'gRPC of v2 with a vendor prefix': grpcDoor(url, (name) => withVendorPrefix(toV2(name))),
    }
  })
  after(async () => {
    for (const door of Object.values(doors)) door.close()
    await platform.stop()
  })

  const sqliteOnly = { skip: engine === 'postgres' && 'a call without a token does not reach the store' }
  test('return the same code for every method', sqliteOnly, async () => {
    for (const { method } of platform.app.endpoints) {
      const answers = await Promise.all(
        Object.values(doors).map(async (door) => (await door.call(method.desc, {})).error?.code),
      )
      assert.equal(new Set(answers).size, 1, `${method.name}: ${answers}`)
      assert.notEqual(answers[0], Code.UNIMPLEMENTED, method.name)
    }
  })

  test('have the same effect', async () => {
    const { token, organization } = platform.owner
    for (const [name, door] of Object.entries(doors)) {
      const { body: made } = await door.call(
        createGroup,
        { parent: organization, group: { name: 'new' } },
        token,
      )
      assert.equal(made?.name, 'new', name)
      const { error } = await door.call(createGroup, { parent: organization, group: { name: 'NEW' } }, token)
      assert.deepEqual(
        error?.details.map((detail) => detail['@type']),
        ['ErrorInfo', 'BadRequest'].map((type) => `type.googleapis.com/google.rpc.${type}`),
      )
      assert.ok((await door.call(deleteGroup, { uid: made?.uid as string }, token)).body, name)
    }
  })

  test('accept page tokens that were returned under another name', async () => {
    const { token, organization } = await platform.addOrganization('paged')
    const [first] = Object.values(doors) as [Door]
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
      await first.call(createGroup, { parent: organization, group: { name } }, token)
    const names: unknown[] = []
    let pageToken = ''
    for (const door of Object.values(doors)) {
      const request = { uidp: { childrenOf: organization }, orderBy: 'name', pageSize: 1, pageToken }
      const { body } = await door.call(listGroups, request, token)
      const groups = (body?.groups ?? []) as JsonObject[]
      names.push(...groups.map(({ name }) => name))
      pageToken = String(body?.nextPageToken ?? '')
    }
    assert.deepEqual(names, ['a', 'b', 'c', 'd', 'e', 'f'])
    assert.equal(pageToken, '')
  })

  test('are counted under the canonical name', async () => {
    const metrics = await (await fetch(`${platform.url}/metrics`)).text()
    assert.match(metrics, /stemma_calls_total\{method="platform\.iam\.v2beta1\.GroupsService\.ListGroups"/)
    assert.doesNotMatch(metrics, /chainguard|\.v2\./)
  })

  test('accept the headers of published clients', async () => {
    const client = new Client(new URL(platform.url).host, credentials.createInsecure(), {
      'grpc.primary_user_agent': 'terraform-provider/1.0',
    })
    const metadata = new Metadata()
    metadata.set('authorization', `Bearer ${platform.owner.token}`)
    metadata.set('cgclientid', 'client')
    metadata.set('cgrequestid', 'their-id')
    metadata.set('traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')
    const asIs = (bytes: Buffer) => bytes
    const path = '/chainguard.platform.iam.v2beta1.GroupsService/ListGroups'
    const id = await new Promise((resolve, reject) => {
      const call = client.makeUnaryRequest(path, asIs, asIs, Buffer.of(), metadata, (error) => {
        if (error) reject(error)
      })
      call.on('metadata', (received: Metadata) => resolve(received.get('x-request-id')[0]))
    })
    client.close()
    assert.equal(id, 'their-id')
    const response = await fetch(`${platform.url}/ping/v1/ping`, { headers: { cgrequestid: 'their-id' } })
    assert.equal(response.headers.get('x-request-id'), 'their-id')
  })

  test('give the same responses to OPTIONS, HEAD and disallowed HTTP methods', async () => {
    const { token } = platform.owner
    const headers = { authorization: `Bearer ${token}`, origin: 'https://console.test' }
    const replyTo = async (path: string, method: string) => {
      const response = await fetch(platform.url + path, { method, headers })
      await response.arrayBuffer()
      const names = ['allow', 'content-length', 'access-control-allow-headers', 'access-control-allow-origin']
      return [response.status, ...names.map((name) => response.headers.get(name))]
    }
    for (const path of [
      '/iam/v2beta1/groups',
      '/registry/v2beta1/repos',
      '/events/v2beta1/nothing',
      '/x/v2beta1/y',
    ]) {
      for (const method of ['OPTIONS', 'HEAD', 'PUT'])
        assert.deepEqual(await replyTo(toV2(path), method), await replyTo(path, method), `${method} ${path}`)
    }
    assert.equal((await replyTo('/iam/v2/groups', 'PUT'))[0], 405)
    assert.equal((await replyTo('/iam/v2/groups', 'HEAD'))[0], 200)
  })
})

describe('vendor prefixes', () => {
  const answerOf = async (args: string[], name: string) => {
    const platform = await startPlatform('sqlite', args)
    const door = grpcDoor(platform.url, () => name)
    try {
      return await door.call(PingService.method.ping, {})
    } finally {
      door.close()
      await platform.stop()
    }
  }

  test('can be configured', async () => {
    const args = ['--vendor-prefixes', 'example.api.']
    assert.deepEqual((await answerOf(args, 'example.api.platform.ping.PingService')).body, {
      response: 'pong',
    })
    assert.equal(
      (await answerOf(args, 'chainguard.platform.ping.PingService')).error?.code,
      Code.UNIMPLEMENTED,
    )
  })

  test('can be turned off', async () => {
    const args = ['--vendor-prefixes=']
    assert.deepEqual((await answerOf(args, 'platform.ping.PingService')).body, { response: 'pong' })
    assert.equal(
      (await answerOf(args, 'chainguard.platform.ping.PingService')).error?.code,
      Code.UNIMPLEMENTED,
    )
  })

  test('do not apply to health and reflection', async (t) => {
    const platform = await startPlatform('sqlite')
    const client = new Client(new URL(platform.url).host, credentials.createInsecure())
    t.after(() => {
      client.close()
      return platform.stop()
    })
    const asIs = (bytes: Buffer) => bytes
    const codeOf = (path: string, message: Buffer) =>
      new Promise<number>((resolve) => {
        const call = client.makeBidiStreamRequest(path, asIs, asIs)
        call.on('error', () => {}) // the status contains the error
        call.on('status', ({ code }) => resolve(code))
        call.resume()
        call.end(message)
      })
    // A request to reflection for all services: field 7 with the text `*`.
    const listServices = Buffer.from([58, 1, 42])
    for (const [name, message] of [
      ['grpc.health.v1.Health/Check', Buffer.of()],
      ['grpc.reflection.v1.ServerReflection/ServerReflectionInfo', listServices],
      ['grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo', listServices],
    ] as const) {
      assert.equal(await codeOf(`/${name}`, message), 0, name)
      assert.equal(await codeOf(`/${withVendorPrefix(name)}`, message), Code.UNIMPLEMENTED, name)
    }
  })
})
