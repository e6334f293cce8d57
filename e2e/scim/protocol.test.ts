// The SCIM protocol (RFC 7644): resources, lists, versions, discovery and errors.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { callRest } from '../sign-in/organizations.ts'
import type { ScimProvider } from './scim-platform.ts'
import { addScimProvider } from './scim-platform.ts'

const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'
const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

onEachStore('SCIM', (engine) => {
  let platform: Platform
  let provider: ScimProvider
  before(async () => {
    // Uids are in the order of their creation only if they are created at least 64 ms apart.
    let steps = 0
    platform = await startPlatform(engine, [], { now: () => Date.now() + 64 * steps++ })
    provider = await addScimProvider(platform, platform.owner)
  })
  after(() => platform.stop())

  const addUser = (userName: string, values: JsonObject = {}) =>
    provider.expect(201, 'POST', '/Users', { schemas: [userSchema], userName, ...values })

  const patch = (...Operations: JsonObject[]) => ({
    schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
    Operations,
  })

  const namesOf = (list: JsonObject) =>
    (list.Resources as JsonObject[]).map(({ userName, displayName }) => userName ?? displayName)

  test('creates, reads, replaces and deletes a user', async () => {
    const sent = {
      ...{
        schemas: [userSchema, enterprise],
        userName: 'Ada',
        externalId: 'e-1',
        name: { givenName: 'Ada' },
      },
      ...{ emails: [{ value: 'ada@acme.example', type: 'work', primary: true }], password: 'hush hush' },
      ...{ [enterprise]: { department: 'Engines' }, unknown: 1, id: 'mine', meta: { version: 'x' } },
    }
    const { status, body, etag, header } = await provider.send('POST', '/Users', sent)
    assert.equal(status, 201)
    const { id, meta, ...rest } = body
    const { password: _, unknown: __, id: ___, meta: ____, ...kept } = sent
    assert.deepEqual(rest, { ...kept, active: true })
    const location = `${platform.config.baseUrl}/scim/v2/${provider.uid}/Users/${id}`
    assert.equal(header('location'), location)
    assert.equal(header('content-type'), 'application/scim+json; charset=utf-8')
    const { created, lastModified, ...facts } = meta as JsonObject
    assert.deepEqual(facts, { resourceType: 'User', location, version: etag })
    assert.equal(created, lastModified)
    assert.deepEqual(await provider.expect(200, 'GET', `/Users/${id}`), body)
    const replaced = await provider.expect(200, 'PUT', `/Users/${id}`, { userName: 'ada', externalId: 'e-1' })
    assert.deepEqual(Object.keys(replaced).sort(), [
      'active',
      'externalId',
      'id',
      'meta',
      'schemas',
      'userName',
    ])
    assert.deepEqual(replaced.schemas, [userSchema])
    await provider.expect(204, 'DELETE', `/Users/${id}`)
    await provider.expect(404, 'GET', `/Users/${id}`)
    await provider.expect(404, 'DELETE', `/Users/${id}`)
  })

  test('ignores read-only attributes, however many values they have', async () => {
    const { id } = await addUser('in many groups')
    const groups = Array.from({ length: 101 }, (_, at) => ({ value: `g-${at}`, display: at }))
    const sent = { userName: 'in many groups', title: 'x', groups, meta: 'x', id: 5 }
    const replaced = await provider.expect(200, 'PUT', `/Users/${id}`, sent)
    assert.deepEqual([replaced.title, replaced.groups], ['x', undefined])
    const members = [{ value: id ?? null, display: 5 }]
    const group = await provider.expect(201, 'POST', '/Groups', { displayName: 'many', members })
    assert.equal((group.members as JsonObject[]).length, 1)
  })

  test('treats an extension that is null as one without values', async () => {
    const { id } = await addUser('without extension', { [enterprise]: null })
    const path = `/Users/${id}`
    const requests: ((value: JsonObject | null) => [string, string, JsonObject])[] = [
      (value) => ['PATCH', path, patch({ op: 'replace', path: enterprise, value })],
      (value) => ['PATCH', path, patch({ op: 'replace', value: { [enterprise]: value } })],
      (value) => ['PUT', path, { userName: 'without extension', [enterprise]: value }],
    ]
    for (const requestWith of requests) {
      const changed = await provider.expect(200, ...requestWith({ department: 'Engines' }))
      assert.deepEqual(changed[enterprise], { department: 'Engines' })
      const cleared = await provider.expect(200, ...requestWith(null))
      assert.deepEqual([cleared.schemas, cleared[enterprise]], [[userSchema], undefined])
    }
  })

  test('refuses a second user with the same userName or externalId', async () => {
    await addUser('unique', { externalId: 'u-1' })
    const conflict = await provider.expect(409, 'POST', '/Users', { userName: 'UNIQUE' })
    assert.equal(conflict.scimType, 'uniqueness')
    assert.equal(conflict.status, '409')
    await provider.expect(409, 'POST', '/Users', { userName: 'other', externalId: 'u-1' })
    const { id } = await addUser('other', { externalId: 'U-1' })
    await provider.expect(409, 'PUT', `/Users/${id}`, { userName: 'Unique' })
    await provider.expect(
      409,
      'PATCH',
      `/Users/${id}`,
      patch({ op: 'replace', path: 'externalId', value: 'u-1' }),
    )
    const otherProvider = await addScimProvider(platform, await platform.addOrganization('twin'))
    await otherProvider.expect(201, 'POST', '/Users', { userName: 'unique', externalId: 'u-1' })
  })

  test('changes nothing if the requested attributes are invalid', async () => {
    const { id } = await addUser('unselected', { title: 'before' })
    const query = `?attributes=${Array.from({ length: 101 }, (_, at) => `a${at}`)}`
    await provider.expect(400, 'POST', `/Users${query}`, { userName: 'not created' })
    await provider.expect(400, 'PUT', `/Users/${id}${query}`, { userName: 'unselected', title: 'after' })
    const change = patch({ op: 'replace', path: 'title', value: 'after' })
    await provider.expect(400, 'PATCH', `/Users/${id}${query}`, change)
    assert.equal((await provider.expect(200, 'GET', `/Users/${id}`)).title, 'before')
    await addUser('not created')
  })

  test('applies all operations of a PATCH, or none', async () => {
    const { id } = await addUser('atomic', { title: 'before' })
    const wrong = patch({ op: 'replace', path: 'title', value: 'after' }, { op: 'remove', path: 'userName' })
    const { scimType } = await provider.expect(400, 'PATCH', `/Users/${id}`, wrong)
    assert.equal(scimType, 'invalidValue')
    const { title } = await provider.expect(200, 'GET', `/Users/${id}`)
    assert.equal(title, 'before')
  })

  test('has a version for each change, and checks it', async () => {
    const { id } = await addUser('versions')
    const path = `/Users/${id}`
    const { etag } = await provider.send('GET', path)
    assert.match(etag, /^W\/"1"$/)
    assert.equal((await provider.send('GET', path, undefined, { 'if-none-match': etag })).status, 304)
    const change = patch({ op: 'replace', path: 'title', value: 'x' })
    const changed = await provider.send('PATCH', path, change, { 'if-match': etag })
    assert.deepEqual([changed.status, changed.etag], [200, 'W/"2"'])
    const unchanged = await provider.send('PATCH', path, change)
    assert.equal(unchanged.etag, 'W/"2"', 'setting the same value again is not a change')
    const recorded = await platform.store.query(
      sql`select action from events where uid = ${`${provider.uid}/${id}`}
        union all select action from unsealed_events where uid = ${`${provider.uid}/${id}`}`,
    )
    assert.deepEqual(recorded.flat().sort(), ['created', 'updated'])
    for (const [method, body] of [
      ['PATCH', change],
      ['PUT', { userName: 'versions' }],
      ['DELETE'],
    ] as const) {
      const stale = await provider.send(method, path, body, { 'if-match': etag })
      assert.deepEqual([stale.status, stale.body.status], [412, '412'])
    }
    assert.equal((await provider.send('GET', path, undefined, { 'if-none-match': etag })).status, 200)
    assert.equal((await provider.send('DELETE', path, undefined, { 'if-match': '"0", W/"2"' })).status, 204)
  })

  describe('a list', () => {
    let list: ScimProvider
    const ids: string[] = []
    before(async () => {
      list = await addScimProvider(platform, await platform.addOrganization('lists'))
      for (let at = 0; at < 12; at++) {
        const { id } = await list.expect(201, 'POST', '/Users', {
          ...{ userName: `user-${String(at).padStart(2, '0')}`, externalId: `x-${at}`, active: at % 2 === 0 },
          ...{
            title: at < 3 ? `Title ${3 - at}` : undefined,
            emails: [{ type: 'work', value: `${at}@acme.example` }],
          },
        })
        ids.push(String(id))
      }
    })

    const search = (query: Record<string, string>) =>
      list.expect(200, 'GET', `/Users?${new URLSearchParams(query)}`)

    test('has pages by startIndex and count', async () => {
      const page = await search({ startIndex: '11', count: '5' })
      assert.deepEqual([page.totalResults, page.startIndex, page.itemsPerPage], [12, 11, 2])
      assert.deepEqual(namesOf(page), ['user-10', 'user-11'])
      const none = await search({ count: '0' })
      assert.deepEqual([none.totalResults, none.itemsPerPage, none.Resources], [12, 0, []])
      assert.equal((await search({ startIndex: '-4', count: '1' })).startIndex, 1)
      assert.equal((await search({ count: '100000' })).itemsPerPage, 12)
      const { scimType } = await list.expect(400, 'GET', '/Users?count=many')
      assert.equal(scimType, 'invalidValue')
    })

    test('can be filtered by every attribute, with or without a database index', async () => {
      const byName = await search({ filter: 'userName eq "USER-03"' })
      assert.deepEqual([byName.totalResults, ...namesOf(byName)], [1, 'user-03'])
      assert.deepEqual(namesOf(await search({ filter: 'externalId eq "x-4"' })), ['user-04'])
      assert.deepEqual(namesOf(await search({ filter: `id eq "${ids[5]}"` })), ['user-05'])
      assert.equal((await search({ filter: 'userName eq "nobody"' })).totalResults, 0)
      const active = await search({ filter: 'active eq true', startIndex: '2', count: '2' })
      assert.deepEqual([active.totalResults, ...namesOf(active)], [6, 'user-02', 'user-04'])
      assert.deepEqual(namesOf(await search({ filter: 'emails[type eq "work" and value sw "7@"]' })), [
        'user-07',
      ])
      assert.deepEqual(namesOf(await search({ filter: 'userName eq "user-03" and active eq true' })), [])
      const { scimType } = await list.expect(
        400,
        'GET',
        `/Users?filter=${encodeURIComponent('nonsense eq "x"')}`,
      )
      assert.equal(scimType, 'invalidFilter')
    })

    test('can be sorted', async () => {
      const sorted = (query: Record<string, string>) => search({ count: '3', ...query }).then(namesOf)
      assert.deepEqual(await sorted({ sortBy: 'userName', sortOrder: 'descending' }), [
        'user-11',
        'user-10',
        'user-09',
      ])
      assert.deepEqual(await sorted({ sortBy: 'title' }), ['user-02', 'user-01', 'user-00'])
      assert.deepEqual(await sorted({ sortBy: 'emails.value', filter: 'title pr' }), [
        'user-00',
        'user-01',
        'user-02',
      ])
      await list.expect(400, 'GET', '/Users?sortBy=unknown')
      await list.expect(400, 'GET', '/Users?sortOrder=up')
    })

    test('returns only the attributes that are requested', async () => {
      const shown = async (query: string) => {
        const { Resources } = await list.expect(200, 'GET', `/Users?count=1&${query}`)
        return Object.keys((Resources as JsonObject[])[0] ?? {}).sort()
      }
      assert.deepEqual(await shown('attributes=userName,emails.value'), [
        'emails',
        'id',
        'schemas',
        'userName',
      ])
      assert.deepEqual(await shown('excludedAttributes=emails,meta,id'), [
        ...['active', 'externalId', 'id', 'schemas', 'title', 'userName'],
      ])
      const { emails } = await list.expect(200, 'GET', `/Users/${ids[0]}?attributes=emails.value`)
      assert.deepEqual(emails, [{ value: '0@acme.example' }])
    })

    test('selects and excludes sub-attributes of an extension', async () => {
      const urn = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
      const other = await addScimProvider(platform, await platform.addOrganization('selected'))
      const manager = { value: 'abc', displayName: 'Ada' }
      const { id } = await other.expect(201, 'POST', '/Users', {
        ...{ schemas: [urn], userName: 'bob', [urn]: { department: 'Engines', manager } },
      })
      const shown = async (query: string) => (await other.expect(200, 'GET', `/Users/${id}?${query}`))[urn]
      assert.deepEqual(await shown(`attributes=${urn}:manager.value`), { manager: { value: 'abc' } })
      assert.deepEqual(await shown(`attributes=${urn}:manager.value,${urn}:manager`), { manager })
      assert.deepEqual(await shown(`attributes=${urn}:department`), { department: 'Engines' })
      assert.deepEqual(await shown(`excludedAttributes=${urn}:manager.displayName`), {
        ...{ department: 'Engines', manager: { value: 'abc' } },
      })
      assert.deepEqual(await shown(`excludedAttributes=${urn}:manager`), { department: 'Engines' })
    })

    test('can be requested by POST, of one type or of all', async () => {
      await list.expect(201, 'POST', '/Groups', { displayName: 'user group', members: [{ value: ids[0] }] })
      const body = {
        schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'],
        ...{ filter: 'meta.created pr', startIndex: 12, count: 5, attributes: ['userName', 'displayName'] },
      }
      const ofUsers = await list.expect(200, 'POST', '/Users/.search', body)
      assert.deepEqual([ofUsers.totalResults, ...namesOf(ofUsers)], [12, 'user-11'])
      const ofAll = await list.expect(200, 'POST', '/.search', body)
      assert.deepEqual([ofAll.totalResults, ...namesOf(ofAll)], [13, 'user-11', 'user group'])
      const named = await list.expect(200, 'POST', '/.search', { filter: 'userName eq "user-03"' })
      assert.deepEqual(namesOf(named), ['user-03'], 'groups have no userName')
      await list.expect(400, 'POST', '/.search', { filter: 'unknown eq "x"' })
    })

    test('of all types has no groups on a page that is cut off before the last user', async () => {
      const large = await addScimProvider(platform, await platform.addOrganization('large'))
      await large.expect(201, 'POST', '/Groups', { displayName: 'group' })
      const title = 'x'.repeat(15_000)
      const values = { displayName: title, nickName: title, profileUrl: title, title }
      const userNames = Array.from({ length: 72 }, (_, at) => `large-${at}`)
      for (const userName of userNames) await large.expect(201, 'POST', '/Users', { userName, ...values })
      const found: unknown[] = []
      for (let pages = 1; found.length < 73; pages++) {
        const query = { startIndex: found.length + 1, count: 200 }
        const page = await large.expect(200, 'POST', '/.search', query)
        assert.equal(page.totalResults, 73)
        assert.ok(pages <= 2 && namesOf(page).length > 0)
        found.push(...(page.Resources as JsonObject[]).map(({ userName }) => userName ?? 'group'))
      }
      assert.deepEqual(found, [...userNames, 'group'])
    })
  })

  test('keeps the members of groups', async () => {
    const [ada, bob] = [await addUser('m-ada'), await addUser('m-bob')].map(({ id }) => String(id)) as [
      string,
      string,
    ]
    const made = await provider.expect(201, 'POST', '/Groups', {
      ...{ displayName: 'Engineers', externalId: 'g-1', members: [{ value: ada }, { value: ada }] },
    })
    const path = `/Groups/${made.id}`
    const base = `${platform.config.baseUrl}/scim/v2/${provider.uid}`
    assert.deepEqual(made.members, [{ value: ada, $ref: `${base}/Users/${ada}`, type: 'User' }])
    const user = await provider.expect(200, 'GET', `/Users/${ada}`)
    assert.deepEqual(user.groups, [
      { value: made.id, $ref: `${base}${path}`, type: 'direct', display: 'Engineers' },
    ])
    const membersAfter = async (...operations: JsonObject[]) => {
      const { members = [] } = await provider.expect(200, 'PATCH', path, patch(...operations))
      return (members as JsonObject[]).map(({ value }) => value).sort()
    }
    assert.deepEqual(
      await membersAfter({ op: 'add', path: 'members', value: [{ value: bob }] }),
      [ada, bob].sort(),
    )
    const byMember = (id: unknown) => `/Groups?filter=${encodeURIComponent(`members[value eq "${id}"]`)}`
    assert.deepEqual(namesOf(await provider.expect(200, 'GET', byMember(bob))), ['Engineers'])
    const both = encodeURIComponent(`id eq "${made.id}" and members.value eq "${ada}"`)
    const { totalResults } = await provider.expect(
      200,
      'GET',
      `/Groups?excludedAttributes=members&filter=${both}`,
    )
    assert.equal(totalResults, 1)
    const inGroup = encodeURIComponent(`groups.value eq "${made.id}"`)
    assert.equal((await provider.expect(200, 'GET', `/Users?filter=${inGroup}`)).totalResults, 2)
    for (const filter of ['members pr', 'members.type eq "User"', `members[type eq "User"]`])
      await provider.expect(400, 'GET', `/Groups?filter=${encodeURIComponent(filter)}`)
    assert.deepEqual(await membersAfter({ op: 'remove', path: `members[value eq "${ada}"]` }), [bob])
    assert.deepEqual(await membersAfter({ op: 'replace', path: 'members', value: [{ value: ada }] }), [ada])
    for (const op of ['add', 'replace'])
      assert.equal(
        (await provider.expect(400, 'PATCH', path, patch({ op, path: 'members' }))).scimType,
        'invalidValue',
      )
    assert.deepEqual(await membersAfter({ op: 'add', path: 'members', value: [] }), [ada])
    assert.deepEqual(await membersAfter({ op: 'remove', path: 'members' }), [])
    const missing = { op: 'add', path: 'members', value: [{ value: '0'.repeat(16) }] }
    assert.equal((await provider.expect(400, 'PATCH', path, patch(missing))).scimType, 'invalidValue')
    await provider.expect(400, 'PUT', path, { displayName: 'x', members: [{ value: made.id }] })
    const put = await provider.expect(200, 'PUT', path, {
      displayName: 'Engineers',
      members: [{ value: bob }],
    })
    assert.equal(put.externalId, undefined)
    await provider.expect(204, 'DELETE', `/Users/${bob}`)
    const { version, lastModified } = put.meta as { version: string; lastModified: string }
    const without = await provider.send('GET', path, undefined, { 'if-none-match': version })
    assert.deepEqual([without.status, without.body.members], [200, undefined])
    assert.notEqual(without.etag, version)
    assert.ok(String((without.body.meta as JsonObject).lastModified) > lastModified)
    await provider.expect(204, 'DELETE', path)
  })

  test('describes itself', async () => {
    const config = await provider.expect(200, 'GET', '/ServiceProviderConfig')
    assert.deepEqual(
      [config.patch, config.bulk],
      [{ supported: true }, { supported: false, maxOperations: 0, maxPayloadSize: 0 }],
    )
    for (const name of ['Schemas', 'ResourceTypes']) {
      const { Resources } = await provider.expect(200, 'GET', `/${name}`)
      for (const resource of Resources as JsonObject[])
        assert.deepEqual(await provider.expect(200, 'GET', `/${name}/${resource.id}`), resource)
      await provider.expect(404, 'GET', `/${name}/unknown`)
      await provider.expect(403, 'GET', `/${name}?filter=id%20pr`)
      await provider.expect(405, 'POST', `/${name}`, {})
    }
  })

  test('reports errors in its own format', async () => {
    const { id } = await addUser('errors')
    const cases: [
      status: number,
      scimType: string | undefined,
      ...request: Parameters<ScimProvider['send']>,
    ][] = [
      [404, undefined, 'GET', '/Unknown'],
      [404, undefined, 'GET', '/Users/unknown'],
      [404, undefined, 'GET', `/Users/${id}/more`],
      [405, undefined, 'PATCH', '/Users', {}],
      [405, undefined, 'POST', `/Users/${id}`, {}],
      [501, undefined, 'GET', '/Me'],
      [501, undefined, 'POST', '/Bulk', {}],
      [400, 'invalidValue', 'POST', '/Users', {}],
      [400, 'invalidValue', 'POST', '/Users', { userName: 5 }],
      [
        400,
        'invalidValue',
        'POST',
        '/Users',
        {
          userName: 'x',
          emails: [
            { primary: true, value: '1' },
            { primary: 'true', value: '2' },
          ],
        },
      ],
      [400, 'invalidSyntax', 'POST', '/Users', '{'],
      [400, 'invalidSyntax', 'POST', '/Users', '[]'],
      [
        415,
        undefined,
        'POST',
        '/Users',
        'userName=x',
        { 'content-type': 'application/x-www-form-urlencoded' },
      ],
    ]
    for (const [status, scimType, ...request] of cases) {
      const body = await provider.expect(status, ...request)
      const { schemas, detail, ...rest } = body
      assert.deepEqual(schemas, ['urn:ietf:params:scim:api:messages:2.0:Error'])
      assert.ok(detail)
      assert.deepEqual(rest, { status: String(status), ...(scimType && { scimType }) }, String(request))
    }
    const refused = await provider.send('POST', `/Users/${id}`, {})
    assert.equal(refused.header('allow'), 'GET, HEAD, PUT, PATCH, DELETE')
    const asJson = await provider.send(
      'POST',
      '/Users',
      { userName: 'json' },
      { 'content-type': 'application/json' },
    )
    assert.equal(asJson.status, 201)
  })

  test('serves the provider of a group below the organization: the URL contains its full uid', async () => {
    const { organization, token } = platform.owner
    const { uid } = await callRest('POST', `${platform.url}/iam/v2beta1/groups/${organization}`, token, {
      name: 'below',
    })
    const below = await addScimProvider(
      platform,
      platform.owner,
      { issuer: 'https://login.acme.example' },
      String(uid),
    )
    assert.equal(below.uid.split('/').length, 3)
    const { id } = await below.expect(201, 'POST', '/Users', { userName: 'below' })
    const { Resources } = await below.expect(200, 'GET', '/Users/')
    assert.equal((Resources as JsonObject[])[0]?.id, id)
    const encoded = below.endpoint.replace(below.uid, encodeURIComponent(below.uid))
    const response = await fetch(`${encoded}/Users/${id}`, {
      headers: { authorization: `Bearer ${below.token}` },
    })
    assert.equal(response.status, 200)
  })

  test('lets a client send all of a body that is too large, and then read the error', async () => {
    const size = 8_000_000
    for (const [header, start, end] of [
      [`content-length: ${size}`, '', ''],
      ['transfer-encoding: chunked', `${size.toString(16)}\r\n`, '\r\n0\r\n\r\n'],
    ] as const) {
      const client = await rawClient(platform.app.port)
      const write = (bytes: string | Uint8Array) =>
        new Promise<void>((resolve, reject) => {
          client.socket.write(bytes, (error) => (error ? reject(error) : resolve()))
        })
      client.socket.pause()
      const head = [
        ...[`POST /scim/v2/${provider.uid}/Users HTTP/1.1`, 'host: stemma.test', header],
        ...[`authorization: Bearer ${provider.token}`, 'content-type: application/scim+json', '', ''],
      ]
      await write(`${head.join('\r\n')}${start}`)
      for (let sent = 0; sent < size; sent += size / 100) {
        await write(Buffer.alloc(size / 100, ' '))
        await new Promise(setImmediate)
      }
      await write(end)
      client.socket.resume()
      const response = await client.response()
      assert.equal(response.status, 413)
      assert.equal(response.headers.get('connection'), 'close')
      assert.match(response.body, /at most 262144 bytes/)
      assert.equal((await client.remainingBytes()).length, 0)
      assert.equal(client.socket.errored, null)
      client.close()
    }
  })
})
