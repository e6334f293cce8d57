// An empty value of a limit (a parameter that restricts a call) is refused. Otherwise a script whose variable is empty
// would get everything instead of a part, and nobody would notice. A misspelt limit is refused for the same reason.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import type { Door, ErrorBody } from '../../server/testing/doors.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ExchangePlatform } from '../sign-in/exchange-platform.ts'
import { startExchangePlatform } from '../sign-in/exchange-platform.ts'

onEachStore('empty and misspelt limits', (engine) => {
  let setUp: ExchangePlatform
  let identity: string
  let token: string
  before(async () => {
    setUp = await startExchangePlatform(engine, {}, 'ES256')
    identity = (await setUp.createIdentity()).uid
    token = await setUp.issuer.sign()
  })
  after(() => setUp.stop())

  const send = (path: string, bearer = setUp.platform.owner.token, init: RequestInit = {}) =>
    fetch(setUp.platform.url + path, { headers: { authorization: `Bearer ${bearer}` }, ...init })

  async function assertRefused(answer: Response, field: string, description = /must not be empty/) {
    const error = (await answer.json()) as ErrorBody
    assert.equal(answer.status, 400, JSON.stringify(error))
    const violations = error.details[1]?.fieldViolations as { field: string; description: string }[]
    assert.equal(violations[0]?.field, field)
    assert.match(violations[0].description, description)
  }

  test('the exchange refuses an empty limit in the query and in a form', async () => {
    const target = `/sts/exchange?identity=${identity}`
    assert.equal((await send(target, token)).status, 200)
    for (const limit of ['scopes', 'scope', 'cap']) {
      for (const parameter of [limit, `${limit}=`, `${limit}=%20`])
        assert.equal((await send(`${target}&${parameter}`, token)).status, 400, parameter)
      await assertRefused(await send(`${target}&${limit}=`, token), limit)
      const form = { method: 'POST', body: new URLSearchParams({ identity, [limit]: '' }) }
      await assertRefused(await send('/sts/exchange', token, { ...authorized(token), ...form }), limit)
    }
    assert.equal((await send(`${target}&scopes=${'0'.repeat(40)}&scopes=`, token)).status, 400)
    assert.equal(
      (await send(`/sts/exchange_refresh_token?scopes=`, token, { ...authorized(token), method: 'POST' }))
        .status,
      400,
    )
  })

  test('the exchange refuses an empty limit in JSON', async () => {
    const post = (path: string, body: object) =>
      send(path, token, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...{ method: 'POST', body: JSON.stringify(body) },
      })
    assert.equal((await post('/sts/exchange', { identity })).status, 200)
    for (const path of ['/sts/exchange', '/sts/exchange_refresh_token'])
      for (const limit of [{ scope: '' }, { scopes: [] }, { cap: [] }, { scope: null }, { scopes: null }])
        await assertRefused(await post(path, { identity, ...limit }), Object.keys(limit)[0] ?? '')
    for (const limit of [{ caps: ['groups.list'] }, { Scopes: [] }, { capabilities: 'groups.list' }])
      await assertRefused(
        await post('/sts/exchange', { identity, ...limit }),
        Object.keys(limit)[0] ?? '',
        /is not a parameter/,
      )
    assert.equal((await post('/sts/exchange', { identity, zzz: 1 })).status, 200)
  })

  test('the exchange refuses unknown parameters that resemble a limit, in the query and in forms', async () => {
    const misspelt = ['caps', 'Cap', 'capabilities', 'capability', 'Scopes', 'scops', 'socpes', 'x_scope']
    for (const name of misspelt) {
      const query = new URLSearchParams({ identity, [name]: 'groups.list' })
      await assertRefused(await send(`/sts/exchange?${query}`, token), name, /is not a parameter/)
      const form = { method: 'POST', body: query, ...authorized(token) }
      await assertRefused(await send('/sts/exchange', token, form), name, /is not a parameter/)
    }
    for (const name of ['zzz', 'client', 'prompt', 'state'])
      assert.equal((await send(`/sts/exchange?identity=${identity}&${name}=1`, token)).status, 200, name)
  })

  const authorized = (bearer: string) => ({ headers: { authorization: `Bearer ${bearer}` } })

  test('the exchange refuses an empty element of a limit through both doors', async () => {
    const { exchange } = SecurityTokenService.method
    for (const door of setUp.doors)
      for (const limit of [
        { scopes: [''] },
        { cap: [''] },
        { scopes: [setUp.platform.owner.organization, ''] },
      ]) {
        const { error } = await door.call(exchange, { identity, ...limit } as JsonObject, token)
        assert.equal(error?.code, 3, JSON.stringify(limit))
      }
  })

  test('the token endpoint refuses an empty or misspelt limit', async () => {
    const form = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      identity,
    }
    const post = (body: object) =>
      send('/oauth/token', token, { method: 'POST', headers: {}, body: new URLSearchParams({ ...body }) })
    assert.equal((await post(form)).status, 200)
    for (const limit of ['scopes', 'scope', 'cap']) {
      const answer = await post({ ...form, [limit]: '' })
      const { error } = (await answer.json()) as { error: string }
      assert.deepEqual([answer.status, error], [400, 'invalid_scope'], limit)
    }
    for (const limit of ['caps', 'capabilities', 'Scope', 'scopess']) {
      const answer = await post({ ...form, [limit]: 'groups.list' })
      const { error } = (await answer.json()) as { error: string }
      assert.deepEqual([answer.status, error], [400, 'invalid_request'], limit)
    }
    assert.equal((await post({ ...form, client_id: 'x', zzz: 'y' })).status, 200)
  })

  test('lists refuse an empty filter, in v2 and in v1', async () => {
    const filters = [
      'uidp.descendants_of',
      'uidp.descendantsOf',
      'uidp.children_of',
      'uidp.ancestors_of',
      'uidp.ids',
    ]
    for (const filter of [...filters, 'name'])
      for (const query of [`${filter}=`, filter, `page_size=1&${filter}=`]) {
        await assertRefused(await send(`/iam/v2beta1/groups?${query}`), filter)
      }
    const paths = [
      ...['iam/v2beta1/roleBindings?identity=', 'iam/v2beta1/roleBindings?role=', 'iam/v1/rolebindings?id='],
      ...['vulnerabilities/v2beta1/advisories?aliases=', 'registry/v2beta1/tags?digest='],
    ]
    for (const path of paths) assert.equal((await send(`/${path}`)).status, 400, path)
    await assertRefused(await send('/iam/v1/groups?uidp.descendants_of='), 'uidp.descendants_of')
    assert.equal(
      (await send('/iam/v2beta1/groups?page_token=&order_by=')).status,
      200,
      'these parameters restrict nothing',
    )
  })

  test('over gRPC an empty filter means no filter, and an empty uid in a list is refused', async () => {
    const [, grpc] = setUp.doors
    const { listGroups } = GroupsService.method
    const call = (uidp: JsonObject) => (grpc as Door).call(listGroups, { uidp }, setUp.platform.owner.token)
    assert.ok((await call({})).body)
    assert.equal((await call({ ids: [''] })).error?.code, 3)
  })

  test('v2 refuses an unknown parameter and suggests the nearest name', async () => {
    const { organization } = setUp.platform.owner
    const groups = '/iam/v2beta1/groups'
    const cases: [target: string, field: string, description: RegExp][] = [
      [`${groups}?descendants_of=${organization}`, 'descendants_of', /did you mean uidp\.descendants_of\?/],
      [
        `${groups}?uidp.descendent_of=${organization}`,
        'uidp.descendent_of',
        /did you mean uidp\.descendants_of/,
      ],
      [`${groups}?pagesize=1`, 'pagesize', /did you mean page_size or pageSize\?/],
      [`${groups}?uidp=${organization}`, 'uidp', /did you mean uidp\./],
      [`${groups}?zzz=1`, 'zzz', /its parameters are uidp\.ancestors_of, .*name_contains$/],
      [`/iam/v2/groups?zzz=1`, 'zzz', /is not a parameter/],
      [`${groups}/${organization}?uid=x`, 'uid', /which has no query parameters/],
      [`${groups}?${'x'.repeat(7000)}=1`, 'x'.repeat(100), /is not a parameter/],
    ]
    for (const [target, field, description] of cases)
      await assertRefused(await send(target), field, description)
    const patch = await send(`${groups}/${organization}?mask=name`, undefined, {
      ...authorized(setUp.platform.owner.token),
      ...{ method: 'PATCH', body: new Blob(['{"name":"changed"}'], { type: 'application/json' }) },
    })
    await assertRefused(patch, 'mask', /its parameters are update_mask/)
    const { body } = await setUp.doors[0].call(
      GroupsService.method.getGroup,
      { uid: organization },
      setUp.platform.owner.token,
    )
    assert.equal(body?.name, 'acme')
  })

  test('v1 ignores unknown parameters, and so does the exchange if they do not resemble a limit', async () => {
    assert.equal((await send('/iam/v1/groups?zzz=1&pageSize=3')).status, 200)
    assert.equal((await send(`/sts/exchange?identity=${identity}&zzz=1`, token)).status, 200)
  })
})
