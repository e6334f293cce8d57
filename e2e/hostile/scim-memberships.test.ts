// A tenant makes a stranger a member of many SCIM groups, so that every call of that person reads them.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { Code } from '../../server/aip/code.ts'
import { newChildUid, userUid } from '../../server/aip/uid.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { parseGrants } from '../../server/policy/grants.ts'
import { lockGrantsAndQuotas, readGrants } from '../../server/policy/read-grants.ts'
import { identities } from '../../server/resources/iam/identities/table.ts'
import { roleBindings } from '../../server/resources/iam/role-bindings/table.ts'
import { linkPerson } from '../../server/scim/users/access.ts'
import { neverExpires } from '../../server/store/expiry.ts'
import { externalGroupUid } from '../../server/store/external-groups.ts'
import { maxMemberships } from '../../server/store/membership-limits.ts'
import { bulkInsert, raw, sql } from '../../server/store/sql.ts'
import type { Work } from '../../server/store/work.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ScimProvider } from '../scim/scim-platform.ts'
import { addScimProvider } from '../scim/scim-platform.ts'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { startIssuer } from '../sign-in/foreign-issuer.ts'
import { clientSecret } from '../sign-in/organization-provider.ts'
import { callRest } from '../sign-in/organizations.ts'

const { exchange } = SecurityTokenService.method
const { register } = Auth.method
const { getGroup } = GroupsService.method

onEachStore('a tenant with SCIM groups', (engine) => {
  let issuer: ForeignIssuer
  let platform: Platform
  let doors: Door[]
  let evil: TestIdentity
  let providers: ScimProvider[]
  before(async () => {
    issuer = await startIssuer('ES256')
    platform = await startPlatform(engine, ['--trusted-issuers', issuer.issuer])
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    evil = await platform.addOrganization('evil')
    providers = []
    for (const clientId of ['client-of-evil', 'second-client'])
      providers.push(await addScimProvider(platform, evil, { issuer: issuer.issuer, clientId }))
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
    await issuer.close()
  })

  const providerAt = (at: number) => providers[at] as ScimProvider

  const addUser = ({ expect }: ScimProvider, externalId: string): Promise<JsonObject> =>
    expect(201, 'POST', '/Users', { userName: externalId, externalId })

  const addGroups = async ({ expect }: ScimProvider, names: readonly string[], { id }: JsonObject) => {
    for (const displayName of names)
      await expect(201, 'POST', '/Groups', { displayName, members: [{ value: id }] })
  }

  const map = (provider: ScimProvider, externalGroupId: string, scope = evil.organization) =>
    callRest('POST', `${platform.url}/iam/v2beta1/externalGroupRoleMappings/${provider.uid}`, evil.token, {
      ...{ externalGroupId, roleUid: builtInRole('viewer').uid, scope },
    })

  /** The effect of a sign-in through the provider in the browser. */
  const signIn = ({ uid }: ScimProvider, { id }: JsonObject, identity: string) =>
    platform.store.write(() => linkPerson(uid, `${uid}/${id}`, identity, Date.now()))

  /**
   * The number of memberships of a person, and whether the person is marked as a member. Calls read
   * memberships only of people with this mark.
   */
  async function membershipsOf(identity: string): Promise<[count: unknown, isMember: boolean]> {
    const [row] =
      await platform.store.query(sql`select (select count(*) from external_group_members m where m.identity = i.uid), external_until
      from identities i where uid = ${identity}`)
    return [row?.[0], row?.[1] !== null]
  }

  function* insertMemberships(provider: string, identity: string, externalGroups: string[]): Work<void> {
    yield bulkInsert(
      raw('insert into external_group_members (identity, external_group, source, provider, expire_time)'),
      externalGroups.map((group) => [identity, group, 'scim', provider, neverExpires]),
    )
    yield sql`update identities set external_until = ${neverExpires} where uid = ${identity}`
  }

  /** Makes a person a member of external groups that have the role viewer in the organization. */
  const addMemberships = ({ uid }: ScimProvider, identity: string, count: number) =>
    platform.store.write(function* () {
      const externalGroups = Array.from({ length: count }, (_, at) => externalGroupUid(uid, `${at}`))
      const [role, now] = [builtInRole('viewer').uid, Date.now()]
      yield* createMany(
        identities,
        externalGroups.map((group) => [
          create(IdentitySchema, { name: 'external group' }),
          { uid: group, now },
        ]),
      )
      const newUid = () => newChildUid(evil.organization, now, randomBytes)
      yield* createMany(
        roleBindings,
        externalGroups.map((identityUid) => [
          create(RoleBindingSchema),
          { uid: newUid(), now, columns: { identity: identityUid, role } },
        ]),
      )
      yield* insertMemberships(uid, identity, externalGroups)
    })

  test('cannot give a membership to a person who has only presented a token, but can end their sign-in', async () => {
    const provider = providerAt(0)
    for (const door of doors) {
      const sub = `stranger-${door.name}`
      const user = await addUser(provider, sub)
      await addGroups(provider, [`trap-${door.name}`], user)
      await map(provider, `trap-${door.name}`)
      const identity = userUid(issuer.issuer, sub)
      const token = await issuer.sign({ sub, aud: 'client-of-evil' })
      assert.equal((await door.call(register, {}, token)).error, undefined)
      const { body } = await door.call(exchange, {}, token)
      const get = () => door.call(getGroup, { uid: evil.organization }, String(body?.token))
      assert.equal((await get()).error?.code, Code.PERMISSION_DENIED)
      assert.deepEqual(await membershipsOf(identity), [0, false])
      const [row] = await platform.store.query(
        sql`select identity from scim_users where external_id = ${sub} and provider = ${provider.uid}`,
      )
      assert.deepEqual(row, [null])
      await provider.expect(204, 'DELETE', `/Users/${user.id}`)
      assert.equal((await get()).error?.code, Code.UNAUTHENTICATED)
      assert.equal((await door.call(exchange, {}, token)).error?.code, Code.PERMISSION_DENIED)
    }
  })

  test('stores the members of a group only while the group has a role mapping', async () => {
    const provider = providerAt(0)
    const { identity } = await platform.addIdentity('')
    const user = await addUser(provider, 'member')
    await addGroups(provider, ['unmapped 1', 'unmapped 2'], user)
    await signIn(provider, user, identity)
    await addGroups(provider, ['unmapped 3'], user)
    assert.deepEqual(await membershipsOf(identity), [0, false])
    const team = await callRest(
      'POST',
      `${platform.url}/iam/v2beta1/groups/${evil.organization}`,
      evil.token,
      {
        name: 'team',
      },
    )
    const mappings = [await map(provider, 'unmapped 2'), await map(provider, 'unmapped 2', String(team.uid))]
    assert.deepEqual(await membershipsOf(identity), [1, true])
    const remove = (mapping: JsonObject | undefined) =>
      callRest('DELETE', `${platform.url}/iam/v2beta1/externalGroupRoleMappings/${mapping?.uid}`, evil.token)
    await remove(mappings[0])
    assert.deepEqual(await membershipsOf(identity), [1, true])
    await remove(mappings[1])
    assert.deepEqual(await membershipsOf(identity), [0, false])
  })

  test('cannot keep the members of a provider whose issuer changes, however many there are', async () => {
    const { uid } = await addScimProvider(platform, evil, { issuer: issuer.issuer, clientId: 'third-client' })
    const { identity } = await platform.addIdentity('')
    const externalGroups = Array.from({ length: 1200 }, (_, at) => `group ${at}`)
    await platform.store.write(() => insertMemberships(uid, identity, externalGroups))
    assert.deepEqual(await membershipsOf(identity), [1200, true])
    await callRest('PATCH', `${platform.url}/iam/v2beta1/identityProviders/${uid}`, evil.token, {
      oidc: { issuer: 'https://moved.example', clientSecret },
    })
    assert.deepEqual(await membershipsOf(identity), [0, false])
  })

  test('cannot give one group many role mappings', async () => {
    const provider = providerAt(0)
    const url = `${platform.url}/iam/v2beta1`
    for (let count = 0; count < 20; count++) {
      const group = await callRest('POST', `${url}/groups/${evil.organization}`, evil.token, {
        name: `group-${count}`,
      })
      await map(provider, 'popular', String(group.uid))
    }
    const response = await fetch(`${url}/externalGroupRoleMappings/${provider.uid}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${evil.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ externalGroupId: 'popular', roleUid: builtInRole('viewer').uid, scope: evil.organization },
      }),
    })
    assert.equal(response.status, 400)
    assert.match(await response.text(), /at most 20 role mappings/)
  })

  test('gives a person at most 100 memberships, of which calls in other organizations read none', async () => {
    const victim = await platform.addOrganization('victim')
    const { identity } = victim
    const [provider, other] = [providerAt(0), providerAt(1)]
    await addMemberships(other, identity, maxMemberships - 10)
    const names = Array.from({ length: 12 }, (_, at) => `mapped ${at}`)
    for (const name of names) await map(provider, name)
    const user = await addUser(provider, 'victim')
    await addGroups(provider, names.slice(0, 10), user)
    await signIn(provider, user, identity)
    assert.deepEqual(await membershipsOf(identity), [maxMemberships, true])
    await addGroups(provider, names.slice(10), user)
    assert.deepEqual(await membershipsOf(identity), [maxMemberships, true])

    const caller = { identity, issuedAt: Math.floor(Date.now() / 1000) }
    const { store } = platform
    /**
     * How many grants a read call and a write call load, including those that are then dropped
     * because they do not apply to `scope`.
     */
    async function grantsReadFor(scope: string | undefined): Promise<number[]> {
      let count = 0
      const parse = (text: string) => {
        const grants = parseGrants(text)
        count += grants.length
        return grants
      }
      await store.read(() => readGrants(caller, Date.now(), scope, parse))
      const read = count
      await store.write(() => lockGrantsAndQuotas(caller, Date.now(), scope, parse))
      return [read, count - read]
    }
    assert.deepEqual(await grantsReadFor(victim.organization), [1, 1])
    assert.deepEqual(await grantsReadFor(evil.organization), [maxMemberships, maxMemberships])
    assert.deepEqual(await grantsReadFor(undefined), [maxMemberships + 1, maxMemberships + 1])

    // The next sign-in through a provider gives the person all memberships of this provider. As that
    // exceeds the limit, the memberships through other providers end.
    await signIn(provider, user, identity)
    assert.deepEqual(await membershipsOf(identity), [names.length, true])
  })
})
