// Attacks by the amount of SCIM data: filling the store, and deletions that take long. A SQLite transaction blocks the
// event loop, so the tests check how many rows one transaction deletes.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { removeDependents } from '../../server/resources/iam/identity-providers/remove-dependents.ts'
import { deleteGroup } from '../../server/scim/groups/groups.ts'
import { maxJsonBytes, maxMembers } from '../../server/scim/limits.ts'
import type { Endpoint } from '../../server/scim/resources.ts'
import { answerResource, endpoints } from '../../server/scim/resources.ts'
import { requireProvisioned } from '../../server/scim/users/access.ts'
import { deleteUser } from '../../server/scim/users/users.ts'
import type { Store } from '../../server/store/db.ts'
import { neverExpires } from '../../server/store/expiry.ts'
import { separatePeople } from '../../server/store/provider-people.ts'
import { bulkInsert, raw, sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ScimProvider } from '../scim/scim-platform.ts'
import { addScimProvider } from '../scim/scim-platform.ts'
import { callRest } from '../sign-in/organizations.ts'

const patchOf = (...Operations: unknown[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})

const idOf = (at: number) => at.toString(16).padStart(16, '0')
const range = <T>(length: number, make: (at: number) => T): T[] => Array.from({ length }, (_, at) => make(at))

onEachStore('somebody with much SCIM data', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await sharedPlatform(engine)
  })
  after(() => platform.stop())

  const providerOf = async (organization: string) =>
    addScimProvider(platform, await platform.addOrganization(organization))

  type Size = { users: number; groups: number; pairs: readonly (readonly [group: number, user: number])[] }

  /** Writes users, groups and members as SCIM requests do, but many at a time. */
  const fill = ({ uid }: ScimProvider, { users, groups, pairs }: Size) => {
    const userAt = (at: number) => `${uid}/${idOf(at)}`
    const groupAt = (at: number) => `${uid}/${idOf(1e6 + at)}`
    return platform.store.write(function* () {
      yield bulkInsert(
        raw(
          'insert into scim_users (uid, provider, user_name, is_active, create_time, update_time, version, json)',
        ),
        range(users, (at) => [userAt(at), uid, idOf(at), 1, 1, 1, 1, '{}']),
      )
      yield bulkInsert(
        raw(
          'insert into scim_groups (uid, provider, display_name, mapping_id, create_time, update_time, version, json)',
        ),
        range(groups, (at) => [groupAt(at), uid, `g${at}`, `g${at}`, 1, 1, 1, `{"displayName":"g${at}"}`]),
      )
      yield bulkInsert(
        raw('insert into scim_members (group_uid, user_uid)'),
        pairs.map(([group, user]) => [groupAt(group), userAt(user)]),
      )
      const bytes = sql`(select sum(octet_length(json)) from scim_groups where provider = ${uid})`
      yield sql`update scim_settings set user_count = ${users}, group_count = ${groups},
        member_count = ${pairs.length}, json_bytes = ${2 * users} + ${bytes} where provider = ${uid}`
    })
  }

  /** The numbers of rows of a provider: members of external groups, SCIM members, SCIM groups, SCIM users. */
  const sizesOf = async ({ uid }: ScimProvider) => {
    const [row] = await platform.store.query(sql`select
      (select count(*) from external_group_members where provider = ${uid}),
      (select count(*) from scim_members m join scim_groups g on g.uid = m.group_uid where g.provider = ${uid}),
      (select count(*) from scim_groups where provider = ${uid}),
      (select count(*) from scim_users where provider = ${uid})`)
    return row as number[]
  }

  /** Links all SCIM users of a provider to the first person, and adds 1100 sign-ins and memberships of `people`. */
  const link = ({ uid }: ScimProvider, people: readonly string[], prefix = '') =>
    platform.store.write(function* () {
      const personAt = (at: number) => people[at % people.length] ?? null
      const ids = range(1100, (at) => `${prefix}${uid} ${at}`)
      yield bulkInsert(
        raw(
          'insert into sign_ins (id, identity, is_browser, client, address, user_agent, create_time, use_time, expire_time)',
        ),
        ids.map((id, at) => [id, personAt(at), 0, '', '', '', 1, 1, neverExpires]),
      )
      yield bulkInsert(
        raw('insert into sign_in_states (id, sealed, grant_id, identity, provider, expire_time)'),
        ids.map((id, at) => [id, Buffer.alloc(1), id, personAt(at), uid, neverExpires]),
      )
      yield bulkInsert(
        raw('insert into refresh_tokens (id, family, identity, audience, digest, provider, expire_time)'),
        ids.map((id, at) => [id, id, personAt(at), '', '', uid, neverExpires]),
      )
      yield bulkInsert(
        raw('insert into external_group_members (identity, external_group, source, provider, expire_time)'),
        ids.map((id, at) => [personAt(at), id, 'scim', uid, neverExpires]),
      )
      yield sql`update scim_users set identity = ${personAt(0)} where provider = ${uid}`
    })

  /** The numbers of rows of people who signed in through a provider: SCIM users, sign-ins, states, tokens, memberships. */
  const linkedTo = async ({ uid }: ScimProvider) => {
    const [row] = await platform.store.query(sql`select
      (select count(*) from scim_users where provider = ${uid} and identity is not null),
      (select count(*) from sign_ins where id like ${`%${uid} %`}),
      (select count(*) from sign_in_states where provider = ${uid}),
      (select count(*) from refresh_tokens where provider = ${uid}),
      (select count(*) from external_group_members where provider = ${uid})`)
    return row as number[]
  }

  /** When the sign-ins of people through a provider ended, the last one first. */
  const signOutsAt = ({ uid }: ScimProvider) =>
    platform.store.query(
      sql`select second from provider_sign_outs where provider = ${uid} order by second desc`,
    )

  /** The counts in the settings of a provider. */
  const countsOf = async ({ uid }: ScimProvider) => {
    const [row] = await platform.store.query(
      sql`select member_count, group_count, user_count, json_bytes from scim_settings where provider = ${uid}`,
    )
    return row as number[]
  }

  const bytesOf = async ({ uid }: ScimProvider) => {
    const [row] = await platform.store.query(sql`select
      (select coalesce(sum(octet_length(json)), 0) from scim_users where provider = ${uid}) +
      (select coalesce(sum(octet_length(json)), 0) from scim_groups where provider = ${uid})`)
    return row?.[0]
  }

  test('cannot make the deletion of a provider one long transaction', async () => {
    const [large, other] = [await providerOf('large'), await providerOf('neighbour')]
    await fill(other, { users: 1, groups: 1, pairs: [[0, 0]] })
    const pairs = range(2500, (at) => [at % 10, Math.floor(at / 10)] as const)
    await fill(large, { users: 450, groups: 250, pairs })
    await platform.store.write(function* () {
      yield bulkInsert(
        raw('insert into external_group_members (identity, external_group, source, provider, expire_time)'),
        range(600, (at) => [large.owner.identity, idOf(at), 'scim', large.uid, neverExpires]),
      )
    })
    const url = `${platform.url}/iam/v2beta1/identityProviders/${large.uid}`
    const sizes = [await sizesOf(large)]
    const removeBatch = () =>
      platform.store.write(() => removeDependents(operatorAccess, large.uid, Date.now()))
    // As if the server had stopped after five transactions.
    for (const _ of range(5, () => undefined)) {
      assert.equal(await removeBatch(), true)
      sizes.push(await sizesOf(large))
    }
    assert.deepEqual(sizes, [
      [600, 2500, 250, 450],
      [100, 2500, 250, 450],
      [0, 1500, 250, 450],
      [0, 500, 250, 450],
      [0, 0, 50, 450],
      [0, 0, 0, 250],
    ])
    assert.deepEqual(await countsOf(large), [0, 0, 250, 500], 'the counts are exact')
    // Until the deletion is complete, SCIM requests are refused, and so are sign-ins of people without a SCIM user.
    assert.equal((await large.send('POST', '/Users', { userName: 'late' })).status, 401)
    await assert.rejects(
      async () => platform.store.write(() => requireProvisioned(large.uid, 'deleted')),
      /not given this account access/,
    )
    const { scim } = await callRest('GET', url, large.owner.token)
    assert.equal((scim as { credentialState?: string }).credentialState, 'CREDENTIAL_STATE_REVOKED')
    // The call can be repeated.
    await callRest('DELETE', url, large.owner.token)
    assert.deepEqual(await sizesOf(large), [0, 0, 0, 0])
    assert.equal(
      (await fetch(url, { headers: { authorization: `Bearer ${large.owner.token}` } })).status,
      404,
    )
    assert.deepEqual(await sizesOf(other), [0, 1, 1, 1])
    await other.expect(200, 'GET', `/Users/${idOf(0)}`)
  })

  test('cannot make the change of an issuer one long transaction', async () => {
    const [large, other] = [await providerOf('moving'), await providerOf('staying')]
    const people = [large.owner.identity, (await platform.addIdentity(large.owner.organization)).identity]
    for (const provider of [large, other]) {
      await fill(provider, { users: 1100, groups: 1, pairs: [[0, 0]] })
      await link(provider, people)
    }
    const { uid } = large
    const sizes = [await linkedTo(large)]
    const [now, end] = [1000, 2000]
    const separateBatch = () => platform.store.write(() => separatePeople(uid, { now, end }))
    // As if the server had stopped after five transactions.
    for (const _ of range(5, () => undefined)) {
      assert.equal(await separateBatch(), true)
      sizes.push(await linkedTo(large))
    }
    assert.deepEqual(sizes, [
      [1100, 1100, 1100, 1100, 1100],
      [600, 1100, 1100, 1100, 1100],
      [100, 1100, 1100, 1100, 1100],
      [0, 600, 600, 600, 1100],
      [0, 100, 100, 100, 1100],
      [0, 0, 0, 0, 600],
    ])
    // People can sign in again until the issuer has changed, so all sign-ins up to `end` are ended.
    assert.deepEqual(await signOutsAt(large), [[end], [end]])
    await link(large, [large.owner.identity], 'again ')
    const url = `${platform.url}/iam/v2beta1/identityProviders/${uid}?update_mask=oidc.issuer,oidc.client_secret`
    const oidc = { issuer: 'https://next.example', clientSecret: 'secret' }
    const change = (query: string, headers: Record<string, string>) =>
      fetch(url + query, {
        method: 'PATCH',
        headers: {
          ...{ authorization: `Bearer ${large.owner.token}`, 'content-type': 'application/json' },
          ...headers,
        },
        body: JSON.stringify({ oidc }),
      })
    const before = await linkedTo(large)
    assert.equal((await change('', { 'if-match': '"stale"' })).status, 412)
    assert.equal((await change('&validate_only=true', {})).status, 200)
    assert.deepEqual(await linkedTo(large), before, 'nothing is removed')
    const begin = Math.floor(Date.now() / 1000)
    assert.equal((await change('', {})).status, 200)
    assert.deepEqual(await linkedTo(large), [0, 0, 0, 0, 0])
    // The second person did not sign in again, so the call does not change their time.
    const [[last], [previous]] = (await signOutsAt(large)) as [[number], [number]]
    assert.ok(last > begin, 'further batches end sign-ins at the deadline of the call')
    assert.equal(previous, end)
    assert.deepEqual(await linkedTo(other), [1100, 1100, 1100, 1100, 1100])
    assert.deepEqual(await signOutsAt(other), [])
  })

  test('can delete a provider with many rows and mappings by one call, if they have the capability', async () => {
    const large = await providerOf('one-call')
    const { token, organization } = large.owner
    const pairs = range(1200, (at) => [at % 3, Math.floor(at / 3)] as const)
    await fill(large, { users: 450, groups: 3, pairs })
    const roleUid = builtInRole('viewer').uid
    const mappings = `${platform.url}/iam/v2beta1/externalGroupRoleMappings/${large.uid}`
    for (let at = 0; at < 51; at++)
      await callRest('POST', mappings, token, { externalGroupId: `g${at}`, roleUid, scope: organization })
    const viewer = await platform.addIdentity(organization)
    await platform.bind(viewer.identity, 'viewer', organization)
    const url = `${platform.url}/iam/v2beta1/identityProviders/${large.uid}`
    const deleteAs = (authorization: string, ifMatch: string) =>
      fetch(url, { method: 'DELETE', headers: { authorization, 'if-match': ifMatch } })
    assert.equal((await deleteAs(`Bearer ${viewer.token}`, '*')).status, 403)
    assert.equal((await deleteAs(`Bearer ${token}`, '"stale"')).status, 412)
    assert.deepEqual(await sizesOf(large), [0, 1200, 3, 450], 'nothing is deleted')
    await large.expect(200, 'GET', '/Users?count=1')
    await callRest('DELETE', url, token)
    assert.deepEqual(await sizesOf(large), [0, 0, 0, 0])
    const left = sql`select count(*) from external_group_role_mappings where parent = ${large.uid}`
    assert.deepEqual(await platform.store.query(left), [[0]])
  })

  test('cannot make the deletion of a group or a user one long transaction', async () => {
    const large = await providerOf('large-group')
    const ofGroup = range(1500, (at) => [0, at] as const)
    const ofUser = range(1500, (at) => [at + 1, 0] as const)
    await fill(large, { users: 1500, groups: 1501, pairs: [...ofGroup, ...ofUser] })
    const context = {
      provider: large.uid,
      now: Date.now,
      random: randomBytes,
      ifMatch: undefined,
      onIgnoredMembers() {},
    }
    const [group, user] = [idOf(1e6), idOf(0)]
    assert.equal(await platform.store.write(() => deleteGroup(context, group)), false)
    assert.deepEqual(await sizesOf(large), [0, 2000, 1501, 1500])
    await large.expect(204, 'DELETE', `/Groups/${group}`)
    assert.deepEqual(await sizesOf(large), [0, 1500, 1500, 1500])
    assert.equal(await platform.store.write(() => deleteUser(context, user)), false)
    assert.deepEqual(await sizesOf(large), [0, 500, 1500, 1500])
    await large.expect(204, 'DELETE', `/Users/${user}`)
    assert.deepEqual(await sizesOf(large), [0, 0, 1500, 1499])
    const [members, groups, users, bytes] = await countsOf(large)
    assert.deepEqual([members, groups, users], [0, 1500, 1499])
    assert.equal(bytes, await bytesOf(large))
    const versions = sql`select distinct version from scim_groups where provider = ${large.uid}`
    assert.deepEqual(await platform.store.query(versions), [[2]], 'each group has lost a member')
  })

  test('sees a new version and an event of a group or a user whose deletion was interrupted', async () => {
    const large = await providerOf('interrupted')
    const ofGroup = range(2001, (at) => [0, at] as const)
    const ofUser = range(2001, (at) => [at + 1, 0] as const)
    await fill(large, { users: 2001, groups: 2002, pairs: [...ofGroup, ...ofUser] })
    for (const [type, id] of [
      ['Groups', idOf(1e6)],
      ['Users', idOf(0)],
    ] as const) {
      const path = `/${type}/${id}`
      const actions = async () => {
        const uid = `${large.uid}/${id}`
        const rows = await platform.store.query(sql`select action from events where uid = ${uid}
          union all select action from unsealed_events where uid = ${uid}`)
        return rows.flat().sort()
      }
      const before = await large.send('GET', path)
      await assert.rejects(deleteFirstBatch(large, type, id, before.etag), /the store has stopped/)
      const after = await large.send('GET', path, undefined, { 'if-none-match': before.etag })
      assert.deepEqual([after.status, after.etag], [200, 'W/"2"'], type)
      const [earlier, later] = [before, after].map(({ body }) => (body.meta as JsonObject).lastModified)
      assert.ok(String(later) > String(earlier))
      assert.deepEqual(await actions(), ['updated'])
      const remove = (etag: string) => large.send('DELETE', path, undefined, { 'if-match': etag })
      assert.equal((await remove(before.etag)).status, 412)
      assert.equal((await remove(after.etag)).status, 204, 'in two transactions')
      assert.deepEqual(await actions(), ['deleted', 'updated', 'updated'])
    }
    assert.deepEqual(await sizesOf(large), [0, 0, 2001, 2000])
  })

  /** Deletes a group or user with a store that stops after the first transaction. */
  const deleteFirstBatch = ({ uid }: ScimProvider, type: string, id: string, ifMatch: string) => {
    let writes = 0
    const store: Store = {
      ...platform.store,
      async write(work, deadline) {
        if (writes++ > 0) throw new Error('the store has stopped')
        return platform.store.write(work, deadline)
      },
    }
    const deps = { store, now: Date.now, random: randomBytes, onIgnoredMembers() {} }
    return answerResource(
      deps,
      endpoints.get(type) as Endpoint,
      {
        ...{ method: 'DELETE', provider: uid, base: '', endpoint: [type, id], query: new URLSearchParams() },
        ...{ ifMatch, ifNoneMatch: undefined, address: '127.0.0.1', userAgent: undefined },
        body: async () => ({}),
      },
      id,
    )
  }

  test('can have 200,000 members in all groups of a provider, and no more', async () => {
    const large = await providerOf('members')
    const ids: unknown[] = []
    for (const userName of ['a', 'b', 'c'])
      ids.push((await large.expect(201, 'POST', '/Users', { userName })).id)
    const [first, second, third] = ids.map((value) => ({ value }))
    const { id } = await large.expect(201, 'POST', '/Groups', { displayName: 'one', members: [first] })
    await platform.store.write(function* () {
      yield sql`update scim_settings set member_count = ${maxMembers - 1} where provider = ${large.uid}`
    })
    const add = (...value: unknown[]) => patchOf({ op: 'add', path: 'members', value })
    const { scimType } = await large.expect(400, 'PATCH', `/Groups/${id}`, add(second, third))
    assert.equal(scimType, 'tooMany')
    await large.expect(200, 'PATCH', `/Groups/${id}`, add(second))
    const another = { displayName: 'two', members: [first] }
    assert.equal((await large.expect(400, 'POST', '/Groups', another)).scimType, 'tooMany')
    await large.expect(200, 'PUT', `/Groups/${id}`, { displayName: 'one', members: [third, first] })
    await large.expect(204, 'DELETE', `/Users/${third?.value}`)
    await large.expect(201, 'POST', '/Groups', another)
    await large.expect(204, 'DELETE', `/Groups/${id}`)
    assert.deepEqual((await countsOf(large)).slice(0, 3), [maxMembers - 1, 1, 2])
  })

  test('can have 256 MiB of JSON in a provider, and no more', async () => {
    const large = await providerOf('bytes')
    const { id } = await large.expect(201, 'POST', '/Users', { userName: 'ä', title: '😀' })
    await large.expect(201, 'POST', '/Groups', { displayName: 'é' })
    await large.expect(200, 'PUT', `/Users/${id}`, { userName: 'ö', title: '😀'.repeat(9) })
    const [, , , bytes] = await countsOf(large)
    assert.equal(bytes, await bytesOf(large), 'the count is exact')
    const fillUp = sql`update scim_settings set json_bytes = ${maxJsonBytes - 40} where provider = ${large.uid}`
    await platform.store.write(function* () {
      yield fillUp
    })
    for (const [method, path, body] of [
      ['POST', '/Users', { userName: 'x'.repeat(40) }],
      ['POST', '/Groups', { displayName: 'x'.repeat(40) }],
      ['PUT', `/Users/${id}`, { userName: 'x'.repeat(100), title: '😀'.repeat(9) }],
    ] as const)
      assert.match(String((await large.expect(403, method, path, body)).detail), /at most 268435456 bytes/)
    await large.expect(200, 'PUT', `/Users/${id}`, { userName: 'ö' })
    await large.expect(201, 'POST', '/Users', { userName: 'x'.repeat(40) })
  })
})
