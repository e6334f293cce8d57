// Log lines and metrics of calls: one line for each call, internal errors with their cause, and no secrets.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Writable } from 'node:stream'
import { after, before, test } from 'node:test'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Registry } from 'prom-client'
import type { App } from '../../server/app.ts'
import { startApp } from '../../server/app.ts'
import { mintToken } from '../../server/auth/tokens/mint.ts'
import { makeOrganization } from '../../server/commands/make-organization.ts'
import { readConfig } from '../../server/config/config.ts'
import { logTo } from '../../server/log.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import type { Store } from '../../server/store/db.ts'
import { sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import type { TemporaryStore } from '../../server/testing/stores.ts'
import { onEachStore, temporaryStore } from '../../server/testing/stores.ts'

const { createGroup, getGroup, listGroups } = GroupsService.method

const errorLevel = 50

onEachStore('logs', (engine) => {
  let app: App
  let store: Store
  let doors: Door[]
  let url: string
  let owner: { organization: string; identity: string; token: string }
  let place: TemporaryStore
  const written: string[] = []
  const lines = () => written.flatMap((text) => text.trim().split('\n')).map((line) => JSON.parse(line))

  before(async () => {
    place = await temporaryStore(engine)
    const flags = ['--port', '0', '--base-url', 'http://stemma.test', '--drain-delay', '0']
    const { config } = readConfig({}, [...place.settings, ...flags])
    const sink = new Writable({
      write(chunk, _, done) {
        written.push(String(chunk))
        done()
      },
    })
    app = await startApp(config, logTo(sink, 'info'))
    store = openStore(config)
    const { keys } = await prepareStore(config, store)
    const made = await makeOrganization(
      { store, authUrl: config.authUrl, now: Date.now, random: randomBytes },
      'acme',
    )
    const signer = { keys, authUrl: config.authUrl, now: Date.now, random: randomBytes }
    owner = { ...made, token: await mintToken(signer, { identity: made.identity, audience: config.baseUrl }) }
    url = `http://127.0.0.1:${app.port}`
    doors = [restDoor(url), grpcDoor(url)]
  })
  after(async () => {
    for (const door of doors ?? []) door.close()
    await app?.stop(true)
    await store?.close()
    await place?.remove()
  })

  test('each call is one line with caller, method, code and duration', async () => {
    for (const door of doors) {
      written.length = 0
      await door.call(listGroups, {}, owner.token)
      await door.call(getGroup, { uid: 'x' }, owner.token)
      await door.call(listGroups, {})
      const seen = lines()
      assert.equal(seen.length, 3)
      const name = 'platform.iam.v2beta1.GroupsService'
      assert.deepEqual(
        seen.map(({ method, code, caller }) => [method, code, caller]),
        [
          [`${name}.ListGroups`, 'OK', owner.identity],
          [`${name}.GetGroup`, 'NOT_FOUND', owner.identity],
          [`${name}.ListGroups`, 'UNAUTHENTICATED', undefined],
        ],
      )
      for (const line of seen) {
        assert.equal(typeof line.ms, 'number')
        assert.equal(line.door, door.name.toLowerCase())
        assert.match(line.requestId, /^[0-9a-f-]{36}$/)
      }
    }
  })

  test('the request id of the caller is in the log', async () => {
    written.length = 0
    const headers = { authorization: `Bearer ${owner.token}`, 'x-request-id': 'trace.me-1' }
    const answer = await fetch(`${url}/iam/v2beta1/groups`, { headers })
    assert.equal(answer.headers.get('x-request-id'), 'trace.me-1')
    assert.deepEqual(
      lines().map(({ requestId }) => requestId),
      ['trace.me-1'],
    )
  })

  test('requests without a matching method are logged as well', async () => {
    written.length = 0
    const answer = await fetch(`${url}/nowhere`)
    const [line] = lines()
    assert.equal(line.requestId, answer.headers.get('x-request-id'))
    assert.match(line.reason, /no such path/)
  })

  test('metrics count calls by method, door and code', async () => {
    for (const door of doors) await door.call(getGroup, { uid: owner.organization }, owner.token)
    const answer = await fetch(`${url}/metrics`)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/)
    const text = await answer.text()
    const name = 'platform.iam.v2beta1.GroupsService'
    for (const door of ['rest', 'grpc']) {
      const labels = `method="${name}.GetGroup",door="${door}"`
      assert.match(text, new RegExp(`^stemma_calls_total\\{${labels},code="OK"\\} [1-9]`, 'm'))
      assert.match(text, new RegExp(`^stemma_call_seconds_count\\{${labels}\\} [1-9]`, 'm'))
    }
    assert.match(text, /code="UNAUTHENTICATED"/)
  })

  test('an error in a path outside the contract is logged with its cause and hidden from the client', async (t) => {
    written.length = 0
    t.mock.method(Registry.prototype, 'metrics', () => Promise.reject(new Error('no numbers today')))
    const answer = await fetch(`${url}/metrics`)
    assert.equal(answer.status, 500)
    assert.equal(await answer.text(), 'something went wrong on our side\n')
    assert.deepEqual(
      lines().map(({ level, requestId, err }) => [level, requestId, err?.message]),
      [[errorLevel, answer.headers.get('x-request-id'), 'no numbers today']],
    )
  })

  test('no token, header value or secret appears in logs or metrics', async () => {
    written.length = 0
    const secret = 'hush-hush-hush'
    const authorizations = [
      `Bearer ${owner.token}`,
      `Bearer ${owner.token}x`,
      `Bearer ${secret}`,
      `Basic ${secret}`,
      secret,
      `Bearer ${owner.token} ${secret}`,
    ]
    for (const authorization of authorizations) {
      const headers = { authorization, cookie: secret, 'x-api-key': secret, 'grpc-timeout': '1S' }
      for (const path of [
        '/iam/v2beta1/groups',
        '/nowhere',
        '/iam/v2beta1/groups/%zz',
        `/iam/v2beta1/groups?access_token=${secret}`,
      ])
        await (await fetch(url + path, { headers })).arrayBuffer()
      await (
        await fetch(`${url}/iam/v2beta1/groups`, { method: 'POST', headers, body: `{"name":"${secret}` })
      ).arrayBuffer()
      const broken = await rawClient(app.port)
      broken.send(`GET / HTTP/1.1\r\nAuthorization: ${authorization}\r\n\x01\r\n\r\n`)
      await broken.response()
      broken.close()
    }
    for (const door of doors) {
      await door.call(listGroups, {}, owner.token)
      await door.call(listGroups, {}, secret)
    }
    const [header, payload, signature] = owner.token.split('.') as [string, string, string]
    const logAndMetrics = written.join('') + (await (await fetch(`${url}/metrics`)).text())
    assert.ok(lines().length > authorizations.length)
    for (const part of [secret, header, payload, signature, 'Bearer ey'])
      assert.ok(
        !logAndMetrics.includes(part),
        `${part} is in ${logAndMetrics.split('\n').find((line) => line.includes(part))}`,
      )
  })

  test('an internal error is logged with its cause and hidden from the caller', async () => {
    await store.write(function* () {
      yield sql`alter table groups rename to lost`
    })
    for (const door of doors) {
      for (const [method, request] of [
        [getGroup, { uid: owner.organization }],
        [listGroups, {}],
        [createGroup, { parent: owner.organization, group: { name: 'x' } }],
      ] as const) {
        written.length = 0
        const { error } = await door.call(method, request, owner.token)
        assert.equal(error?.code, 13)
        assert.equal(error?.message, 'Internal: something went wrong on our side')
        assert.deepEqual(
          error?.details.map((detail) => Object.keys(detail).sort()),
          [['@type', 'domain', 'reason']],
        )
        const [line] = lines()
        const errorLevel = 50
        assert.equal(line.level, errorLevel)
        assert.equal(line.code, 'INTERNAL')
        assert.match(line.err.message, /groups/)
        assert.match(line.err.stack, /\n {4}at /)
        assert.ok(line.requestId)
      }
    }
    await store.write(function* () {
      yield sql`alter table lost rename to groups`
    })
    for (const door of doors) assert.ok((await door.call(listGroups, {}, owner.token)).body)
  })

  test('an error while rendering a response is logged as well', async () => {
    const writeRow = (shape: string, proto: Uint8Array) =>
      store.write(function* () {
        yield sql`update groups set shape = ${shape}, proto = ${proto} where uid = ${owner.organization}`
      })
    const [[shape, proto] = []] = await store.query(sql`select shape, proto from groups`)
    // A row of another shape is rendered again from its bytes, which are invalid here.
    await writeRow('other shape', Buffer.from([255]))
    written.length = 0
    const { error } = await restDoor(url).call(getGroup, { uid: owner.organization }, owner.token)
    assert.equal(error?.code, 13)
    const [line] = lines()
    assert.equal(line.code, 'INTERNAL')
    assert.ok(line.err.stack)
    await writeRow(String(shape), proto as Uint8Array)
  })
})
