// Attacks on SCIM: tokens of others, expensive requests, prototype pollution and path traversal.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '@bufbuild/protobuf'
import { openBudget } from '../../server/scim/budget.ts'
import { parseFilter } from '../../server/scim/filter/parse.ts'
import { maxComparedByList } from '../../server/scim/limits.ts'
import { findPage } from '../../server/scim/list.ts'
import { listQueryOf } from '../../server/scim/list-query.ts'
import { storedUsers } from '../../server/scim/users/stored-users.ts'
import { addMembers } from '../../server/store/external-groups.ts'
import type { Sql } from '../../server/store/sql.ts'
import { bulkInsert, raw, sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ScimProvider } from '../scim/scim-platform.ts'
import { addScimProvider, senderTo } from '../scim/scim-platform.ts'
import { captureLog } from '../server/captured-log.ts'
import { addIdentityProvider, callRest } from '../sign-in/organizations.ts'

const patchOf = (...Operations: unknown[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})

/** A filter that no value matches. */
const termsOf = (attribute: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${attribute} co "A${at}"`).join(' or ')

onEachStore('an attacker of SCIM', (engine) => {
  let platform: Platform
  let acme: ScimProvider
  let other: ScimProvider
  before(async () => {
    platform = await startPlatform(engine, [], { unsentLimits: { perCaller: 10e6, total: 100e6 } })
    acme = await addScimProvider(platform, platform.owner)
    other = await addScimProvider(platform, await platform.addOrganization('other'))
  })
  after(() => platform.stop())

  const countUsers = async () => {
    const [row] = await platform.store.query(sql`select count(*) from scim_users`)
    return row?.[0]
  }

  /** Asks for a list and reads only the beginning of the response. */
  async function connectAndAsk({ uid, token }: ScimProvider): Promise<Socket> {
    const socket = connect(platform.app.port, '127.0.0.1')
    const head = [`GET /scim/v2/${uid}/Users HTTP/1.1`, 'host: stemma.test', `authorization: Bearer ${token}`]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    await once(socket, 'data')
    socket.pause()
    return socket
  }

  test('cannot stay linked to the SCIM user of another person after the issuer of the provider is changed back', async () => {
    const swapped = await addScimProvider(platform, await platform.addOrganization('swapped'))
    const { id } = await swapped.expect(201, 'POST', '/Users', { userName: 'ceo', externalId: 'ceo' })
    const { identity } = await platform.addIdentity(swapped.owner.organization)
    // As after a sign-in through the provider while it had the issuer of the attacker.
    await platform.store.write(function* () {
      yield sql`update scim_users set identity = ${identity} where uid = ${`${swapped.uid}/${id}`}`
      yield* addMembers(swapped.uid, 'admins', [identity])
    })
    const url = `${platform.url}/iam/v2beta1/identityProviders/${swapped.uid}`
    const oidc = { issuer: 'https://honest.example', clientSecret: 'secret' }
    await callRest('PATCH', `${url}?update_mask=oidc.issuer,oidc.client_secret`, swapped.owner.token, {
      oidc,
    })
    const rows = (statement: Sql) => platform.store.query(statement)
    const { uid } = swapped
    assert.deepEqual(await rows(sql`select identity from scim_users where provider = ${uid}`), [[null]])
    assert.deepEqual(await rows(sql`select 1 from external_group_members where provider = ${uid}`), [])
    const ended = await rows(sql`select identity from provider_sign_outs where provider = ${uid}`)
    assert.deepEqual(ended, [[identity]])
  })

  test('gets the same answer without a token, with a wrong one, and where there is no provider', async () => {
    const { identity, organization, token: accessToken } = platform.owner
    const withoutScim = await addIdentityProvider(platform, platform.owner, {
      issuer: 'https://login.acme.example',
    })
    const targets = [
      acme.uid,
      withoutScim,
      `${organization}/${'0'.repeat(16)}`,
      `${'0'.repeat(40)}/${'0'.repeat(16)}`,
      identity,
    ]
    const tokens = [
      undefined,
      '',
      'x',
      `cgscim_${'0'.repeat(64)}`,
      other.token,
      accessToken,
      acme.token.toUpperCase(),
    ]
    const answers = new Set<string>()
    for (const target of targets)
      for (const token of tokens)
        for (const [method, path] of [
          ['GET', '/Users'],
          ['GET', '/ServiceProviderConfig'],
          ['GET', '/nothing'],
          ['POST', '/Users'],
        ] as const) {
          const send = senderTo(`${platform.url}/scim/v2/${target}`, token)
          const { status, body, header } = await send(method, path, method === 'POST' ? '{' : undefined)
          answers.add(JSON.stringify([status, body, header('www-authenticate')]))
        }
    assert.equal(answers.size, 1, [...answers].join('\n'))
    assert.match([...answers].join(), /^\[401,/)
  })

  test('cannot finish a request whose head was sent before the token was revoked', async () => {
    const leaver = await addScimProvider(platform, await platform.addOrganization('leaver'))
    const body = JSON.stringify({ userName: 'late' })
    const client = await rawClient(platform.app.port)
    const head = [
      `POST /scim/v2/${leaver.uid}/Users HTTP/1.1`,
      ...['host: stemma.test', 'content-type: application/scim+json', `content-length: ${body.length}`],
      `authorization: Bearer ${leaver.token}`,
    ]
    client.send(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 5)}`)
    // The server has read the head before it answers a later request.
    await leaver.expect(200, 'GET', '/Users')
    const url = `${platform.url}/iam/v2beta1/identityProviders/${leaver.uid}:revokeScimToken`
    await callRest('POST', url, leaver.owner.token, {})
    client.send(body.slice(5))
    assert.equal((await client.response()).status, 401)
    client.close()
    const stored = sql`select count(*) from scim_users where provider = ${leaver.uid}`
    assert.deepEqual(await platform.store.query(stored), [[0]])
  })

  test('cannot make the server evaluate filters for all members of a group, or run too many operations', async () => {
    const { id } = await acme.expect(201, 'POST', '/Groups', { displayName: 'large' })
    const removal = { op: 'remove', path: 'members[value eq "x" or value eq "y"]' }
    const { scimType } = await acme.expect(400, 'PATCH', `/Groups/${id}`, patchOf(removal))
    assert.equal(scimType, 'invalidFilter')
    const operations = Array.from({ length: 201 }, () => ({ op: 'remove', path: 'externalId' }))
    const { detail } = await acme.expect(400, 'PATCH', `/Groups/${id}`, patchOf(...operations))
    assert.match(String(detail), /at most 200 operations/)
  })

  test('cannot make the server evaluate long filters for many values, in many operations', async () => {
    const emails = Array.from({ length: 100 }, (_, at) => ({
      ...{ value: `${at}${'x'.repeat(570)}`, type: at < 99 ? 'home' : 'work' },
    }))
    const user = await acme.expect(201, 'POST', '/Users', { userName: 'many values', emails })
    const path = `emails[${termsOf('value', 49)} or type eq "work"].type`
    const operations = Array(200).fill({ op: 'replace', path, value: 'work' })
    const { scimType } = await acme.expect(400, 'PATCH', `/Users/${user.id}`, patchOf(...operations))
    assert.equal(scimType, 'tooMany')
    assert.deepEqual(await acme.expect(200, 'GET', `/Users/${user.id}`), user)
    await acme.expect(200, 'PATCH', `/Users/${user.id}`, patchOf(operations[0]))
    await acme.expect(204, 'DELETE', `/Users/${user.id}`)
  })

  test('cannot make the server evaluate a long filter for many large resources', async () => {
    const large = await addScimProvider(platform, await platform.addOrganization('large-resources'))
    const emails = Array.from({ length: 100 }, (_, at) => ({ value: `${at}${'x'.repeat(570)}` }))
    const json = JSON.stringify({ userName: 'large', emails })
    await platform.store.write(function* () {
      yield bulkInsert(
        raw(
          'insert into scim_users (uid, provider, user_name, is_active, create_time, update_time, version, json)',
        ),
        Array.from({ length: 40 }, (_, at) => [
          ...[`${large.uid}/${String(at).padStart(16, '0')}`, large.uid, `u${at}`, 1, 1, 1, 1, json],
        ]),
      )
    })
    const filter = termsOf('emails', 50)
    for (const [method, path, body] of [
      ['GET', `/Users?filter=${encodeURIComponent(filter)}`],
      ['POST', '/.search', { filter }],
    ] as const)
      assert.equal((await large.expect(400, method, path, body)).scimType, 'tooMany')
    // A shorter filter is evaluated, and other calls are answered in between.
    const budget = openBudget(maxComparedByList, '')
    let [inTurn, most, isDone] = [0, 0, false]
    const beginTurn = () => {
      inTurn = 0
      if (!isDone) setImmediate(beginTurn)
    }
    beginTurn()
    const { total } = await findPage(
      { store: platform.store, provider: large.uid, base: '' },
      storedUsers,
      { ...listQueryOf(new URLSearchParams()), filter: parseFilter(termsOf('emails', 20)) },
      {
        ...budget,
        spend(characters) {
          budget.spend(characters)
          inTurn += characters
          most = Math.max(most, inTurn)
        },
      },
    )
    isDone = true
    assert.equal(total, 0)
    // A turn ends after the resource with which it exceeds a million characters.
    assert.ok(most > 1_000_000 && most < 1_000_000 + 20 * json.length, `${most} characters in one turn`)
  })

  test('cannot make the server hold large resources: lists read 32 MiB at most, and pages end at 4 MiB', async () => {
    const large = await addScimProvider(platform, await platform.addOrganization('large'))
    const rows = Array.from({ length: 9 }, (_, at) => {
      const json = JSON.stringify({ userName: `u${at}`, title: 'x'.repeat(4 * 2 ** 20) })
      return [`${large.uid}/${String(at).padStart(16, '0')}`, large.uid, `u${at}`, 1, 1, 1, 1, json]
    })
    await platform.store.write(function* () {
      for (const row of rows)
        yield bulkInsert(
          raw(
            'insert into scim_users (uid, provider, user_name, is_active, create_time, update_time, version, json)',
          ),
          [row],
        )
      yield sql`update scim_settings set user_count = 9 where provider = ${large.uid}`
    })
    for (const query of ['sortBy=userName', 'filter=title%20co%20%22y%22'])
      assert.equal((await large.expect(400, 'GET', `/Users?${query}`)).scimType, 'tooMany')
    const { totalResults, itemsPerPage } = await large.expect(200, 'GET', '/Users?attributes=userName')
    assert.deepEqual([totalResults, itemsPerPage], [9, 1])
    const found = await large.expect(200, 'GET', '/Users?filter=userName%20eq%20%22u7%22&attributes=userName')
    assert.equal(found.totalResults, 1)
  })

  test('cannot make the server hold responses that nobody reads', async () => {
    const unread = await addScimProvider(platform, await platform.addOrganization('unread'))
    // Larger than the buffers of a connection (Linux: 4.3 MB).
    const json = JSON.stringify({ userName: 'large', title: 'x'.repeat(6 * 2 ** 20) })
    await platform.store.write(function* () {
      yield sql`insert into scim_users
        (uid, provider, user_name, is_active, create_time, update_time, version, json)
        values (${`${unread.uid}/${'0'.repeat(16)}`}, ${unread.uid}, 'large', 1, 1, 1, 1, ${json})`
      yield sql`update scim_settings set user_count = 1 where provider = ${unread.uid}`
    })
    const socket = await connectAndAsk(unread)
    const refused = await unread.send('GET', '/Users')
    assert.equal(refused.status, 429)
    assert.match(String(refused.body.detail), /wait to be read/)
    await unread.expect(200, 'GET', '/Users?attributes=userName')
    socket.destroy()
    let { status } = await unread.send('GET', '/Users')
    for (let count = 0; count < 600 && status === 429; count++) {
      await sleep(100)
      status = (await unread.send('GET', '/Users')).status
    }
    assert.equal(status, 200)
  })

  test('cannot reach the resources of another provider with a valid token', async () => {
    const { id } = await acme.expect(201, 'POST', '/Users', { userName: 'victim' })
    const { id: own } = await other.expect(201, 'POST', '/Users', { userName: 'own' })
    for (const path of [
      `/Users/${id}`,
      `/Users/..%2F..%2F${acme.uid}%2F${id}`,
      `/Users/${acme.uid}/${id}`,
      `/../../${acme.uid}/Users/${id}`,
    ])
      for (const method of ['GET', 'DELETE']) {
        const { status } = await other.send(method, path)
        assert.ok(status === 404 || status === 401, `${method} ${path}: ${status}`)
      }
    await other.expect(400, 'POST', '/Groups', { displayName: 'thieves', members: [{ value: String(id) }] })
    const group = await other.expect(201, 'POST', '/Groups', {
      displayName: 'thieves',
      members: [{ value: String(own) }],
    })
    const steal = patchOf({ op: 'add', path: 'members', value: [{ value: id }] })
    await other.expect(400, 'PATCH', `/Groups/${group.id}`, steal)
    const filter = encodeURIComponent(`id eq "${id}"`)
    assert.equal((await other.expect(200, 'GET', `/Users?filter=${filter}`)).totalResults, 0)
    const injected = encodeURIComponent(`userName eq "' or provider <> '"`)
    assert.equal((await other.expect(200, 'GET', `/Users?filter=${injected}`)).totalResults, 0)
    await acme.expect(200, 'GET', `/Users/${id}`)
  })

  test('cannot make the server parse deep or long filters, bodies and lists of operations', async () => {
    const deep = `${'('.repeat(900)}active eq true${')'.repeat(900)}`
    for (const filter of [
      deep,
      `userName eq "${'x'.repeat(3000)}"`,
      Array(60).fill('active eq true').join(' and '),
      'not ('.repeat(200),
    ]) {
      const { scimType } = await acme.expect(400, 'GET', `/Users?filter=${encodeURIComponent(filter)}`)
      assert.equal(scimType, 'invalidFilter')
      await acme.expect(400, 'POST', '/.search', { filter })
    }
    const { id } = await acme.expect(201, 'POST', '/Users', { userName: 'large' })
    const path = `/Users/${id}`
    await acme.expect(400, 'PATCH', path, patchOf(...Array(1001).fill({ op: 'remove', path: 'title' })))
    await acme.expect(400, 'PATCH', path, patchOf({ op: 'add', path: deep, value: 'x' }))
    await acme.expect(
      400,
      'PATCH',
      path,
      patchOf({ op: 'add', path: 'roles', value: Array(101).fill({ value: 'x' }) }),
    )
    await acme.expect(400, 'PUT', path, { userName: 'large', title: 'x'.repeat(20_000) })
    const roles = Array.from({ length: 100 }, (_, at) => ({ value: `${at}${'x'.repeat(1000)}` }))
    await acme.expect(400, 'PUT', path, { userName: 'large', roles })
    await acme.expect(400, 'PUT', path, { userName: 'x'.repeat(513) })
    const members = Array.from({ length: 1001 }, (_, at) => ({ value: at.toString(16).padStart(16, '0') }))
    await acme.expect(400, 'POST', '/Groups', { displayName: 'many', members })
    const removal = { op: 'remove', path: 'members', value: members.slice(0, 501) }
    const { id: group } = await acme.expect(201, 'POST', '/Groups', { displayName: 'few' })
    await acme.expect(400, 'PATCH', `/Groups/${group}`, patchOf(removal, removal)) // 1002 members
    await acme.expect(400, 'GET', `/Users?attributes=${Array(101).fill('title').join()}`)
    const nested = `${'{"name":'.repeat(20_000)}1${'}'.repeat(20_000)}`
    await acme.expect(400, 'PUT', path, nested)
    const client = await rawClient(platform.app.port)
    client.send(
      [
        ...[`POST /scim/v2/${acme.uid}/Users HTTP/1.1`, 'host: stemma.test', 'content-length: 300000'],
        ...[`authorization: Bearer ${acme.token}`, 'content-type: application/scim+json', '', ''],
      ].join('\r\n'),
    )
    assert.equal((await client.response()).status, 413, 'the body is refused before it is sent')
    client.close()
  })

  test('cannot pollute prototypes or store attributes that no schema has', async () => {
    const polluted =
      '{"userName":"proto","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"name":{"__proto__":{"polluted":1},"givenName":"P"}}'
    const { id, ...body } = await acme.expect(201, 'POST', '/Users', polluted)
    assert.deepEqual(Object.keys(body).sort(), ['active', 'meta', 'name', 'schemas', 'userName'])
    assert.deepEqual(body.name, { givenName: 'P' })
    for (const path of [
      '__proto__',
      '__proto__.polluted',
      'constructor.prototype',
      'name.__proto__',
      'emails[__proto__ eq "x"].value',
    ])
      await acme.expect(400, 'PATCH', `/Users/${id}`, patchOf({ op: 'add', path, value: { polluted: 1 } }))
    await acme.expect(400, 'GET', '/Users?sortBy=__proto__')
    await acme.expect(200, 'GET', `/Users?attributes=__proto__,constructor`)
    assert.equal(({} as { polluted?: number }).polluted, undefined)
  })

  test('cannot store text that a store refuses', async () => {
    const before = await countUsers()
    for (const userName of ['a\0b', '\ud800']) {
      const { scimType } = await acme.expect(400, 'POST', '/Users', { userName })
      assert.equal(scimType, 'invalidValue')
    }
    for (const filter of ['userName eq "\\u0000"', 'externalId eq "\\ud800"', 'id eq "\\u0000"'])
      assert.equal(
        (await acme.expect(200, 'GET', `/Users?filter=${encodeURIComponent(filter)}`)).totalResults,
        0,
      )
    await acme.expect(404, 'GET', '/Users/%00')
    assert.equal(await countUsers(), before)
  })

  test('cannot make concurrent creates of one user succeed twice', async () => {
    const creates = Array.from({ length: 8 }, () =>
      acme.send('POST', '/Users', { userName: 'race', externalId: 'race' }),
    )
    const statuses = (await Promise.all(creates)).map(({ status }) => status).sort()
    assert.deepEqual(statuses, [201, ...Array(7).fill(409)])
    const { totalResults, Resources } = await acme.expect(200, 'GET', '/Users?count=200')
    assert.equal(totalResults, (Resources as JsonObject[]).length, 'the count is exact')
  })
})

onEachStore('a SCIM client', (engine) => {
  test('is limited by organization, and told when to try again', async () => {
    // Each organization has a burst of ten writes. Setting up a provider takes three of them.
    const rates = ['--rate-write', 'caller=0,organization=1,address=100']
    const platform = await startPlatform(engine, rates, { clock: () => 0 })
    try {
      const [first, second] = [
        await addScimProvider(platform, platform.owner),
        await addScimProvider(platform, platform.owner),
      ]
      const other = await addScimProvider(platform, await platform.addOrganization('other'))
      const write = (provider: ScimProvider, at: number) =>
        provider.send('POST', '/Users', { userName: `user-${at}` })
      for (const [at, provider] of [first, second, first, second].entries())
        assert.equal((await write(provider, at)).status, 201)
      const refused = await write(second, 9)
      assert.equal(refused.status, 429)
      assert.ok(Number(refused.header('retry-after')) > 0)
      assert.equal(refused.body.status, '429')
      assert.equal((await second.send('GET', '/Users')).status, 200, 'reads have their own limit')
      assert.equal((await write(other, 1)).status, 201, 'other organizations are not affected')
    } finally {
      await platform.stop()
    }
  })

  test('cannot get its token into the log', async () => {
    const { log, written } = captureLog('info')
    const platform = await startPlatform(engine, [], {}, log)
    try {
      const acme = await addScimProvider(platform, platform.owner)
      await acme.expect(201, 'POST', '/Users', { userName: 'logged' })
      await senderTo(acme.endpoint, wrongToken)('GET', '/Users')
      const text = written.join('')
      assert.match(text, /SCIM request/)
      assert.ok(!text.includes(acme.token) && !text.includes(wrongToken))
    } finally {
      await platform.stop()
    }
  })
})

const wrongToken = `cgscim_${'a'.repeat(64)}`
