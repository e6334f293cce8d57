// People whom their organization has deactivated by SCIM look for another way in. The issuer is shared: everybody can
// configure it in an organization of their own.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { Code } from '../../server/aip/code.ts'
import { userUid } from '../../server/aip/uid.ts'
import { sql } from '../../server/store/sql.ts'
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
import { callRest } from '../sign-in/organizations.ts'

const { createGroup, getGroup, listGroups } = GroupsService.method
const { register, validate } = Auth.method
const deleteAccount = Auth.method.delete
const { exchange } = SecurityTokenService.method
const denied = Code.PERMISSION_DENIED

onEachStore('a person whom an organization has deactivated', (engine) => {
  let issuer: ForeignIssuer
  let platform: Platform
  let doors: [Door, Door]
  let acme: TestIdentity
  let team: string
  let provider: ScimProvider
  before(async () => {
    issuer = await startIssuer('ES256')
    platform = await startPlatform(engine, ['--trusted-issuers', issuer.issuer])
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    acme = await platform.addOrganization('acme')
    const made = await doors[0].call(
      createGroup,
      { parent: acme.organization, group: { name: 'team' } },
      acme.token,
    )
    team = String(made.body?.uid)
    provider = await addScimProvider(platform, acme, { issuer: issuer.issuer, clientId: 'client-of-acme' })
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
    await issuer.close()
  })

  const addUser = async ({ expect }: ScimProvider, name: string, values: JsonObject = {}) =>
    String((await expect(201, 'POST', '/Users', { userName: name, externalId: name, ...values })).id)

  const patch = ({ expect }: ScimProvider, id: string, operation: JsonObject) =>
    expect(200, 'PATCH', `/Users/${id}`, {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations: [operation],
    })
  const setActive = (at: ScimProvider, id: string, value: boolean) =>
    patch(at, id, { op: 'replace', path: 'active', value })

  const callAs = async (token: string, request: JsonObject, method: DescMethod = exchange) => {
    const { body, error } = await doors[0].call(method, request, token)
    assert.ok(body, error?.message)
    return body
  }

  /** Registers a person and returns a token that did not go through any provider. */
  async function tokenOf(name: string): Promise<string> {
    const own = await issuer.sign({ sub: name, aud: platform.config.authUrl })
    await callAs(own, {}, register)
    return String((await callAs(own, {})).token)
  }

  /** For each door: the code of a read, whether a list shows the group, and the code of a write. */
  async function codesAt(group: string, token: string): Promise<(number | string)[]> {
    const codes: (number | string)[] = []
    for (const door of doors) {
      const got = await door.call(getGroup, { uid: group }, token)
      const listed = await door.call(listGroups, { pageSize: 100 }, token)
      const uids = (listed.body?.groups as JsonObject[] | undefined)?.map(({ uid }) => uid) ?? []
      const made = await door.call(createGroup, { parent: group, group: { name: 'made' } }, token)
      codes.push(got.error?.code ?? 0, uids.includes(group) ? 'listed' : 'hidden', made.error?.code ?? 0)
    }
    return codes
  }
  const allowed = [0, 'listed', 0, 0, 'listed', 0]
  const refused = [denied, 'hidden', denied, denied, 'hidden', denied]

  test('has no roles there, whichever token they use, until activated again', async () => {
    const id = await addUser(provider, 'bob')
    const token = await tokenOf('bob')
    const bob = userUid(issuer.issuer, 'bob')
    await platform.bind(bob, 'owner', acme.organization)
    await platform.bind(bob, 'owner', team)
    const elsewhere = await platform.addOrganization('elsewhere')
    await platform.bind(bob, 'owner', elsewhere.organization)
    assert.deepEqual(await codesAt(acme.organization, token), allowed)
    await setActive(provider, id, false)
    for (const held of [token, await tokenOf('bob')]) {
      for (const group of [acme.organization, team]) assert.deepEqual(await codesAt(group, held), refused)
      assert.deepEqual(await codesAt(elsewhere.organization, held), allowed)
      const { capabilities } = await callAs(held, {}, validate)
      const groups = (capabilities as { group: { id: string } }[]).map(({ group }) => group.id)
      assert.deepEqual(groups, [elsewhere.organization])
    }
    // A role that they get meanwhile does not count either.
    const late = await callRest(
      'POST',
      `${platform.url}/iam/v2beta1/groups/${acme.organization}`,
      acme.token,
      {
        name: 'late',
      },
    )
    await platform.bind(bob, 'viewer', String(late.uid))
    assert.deepEqual((await codesAt(String(late.uid), token)).slice(0, 2), [denied, 'hidden'])
    await setActive(provider, id, true)
    assert.deepEqual(await codesAt(acme.organization, token), allowed)
  })

  test('keeps roles above the group of the provider, and has none in or below it', async () => {
    const inTeam = await addScimProvider(platform, acme, { issuer: issuer.issuer }, team)
    const id = await addUser(inTeam, 'cyd')
    const token = await tokenOf('cyd')
    const cyd = userUid(issuer.issuer, 'cyd')
    await platform.bind(cyd, 'owner', team)
    await setActive(inTeam, id, false)
    assert.deepEqual(await codesAt(team, token), refused)
    await platform.bind(cyd, 'owner', acme.organization)
    assert.deepEqual(await codesAt(team, token), allowed, 'this role was given above the team')
    await platform.unbind(cyd, acme.organization)
    assert.deepEqual(await codesAt(team, token), refused)
    await callRest('DELETE', `${platform.url}/iam/v2beta1/identityProviders/${inTeam.uid}`, acme.token)
    assert.deepEqual(await codesAt(team, token), allowed, 'a deleted provider suspends nothing')
  })

  test('is suspended until each of several providers has activated them', async () => {
    const second = await addScimProvider(platform, acme, { issuer: issuer.issuer })
    const token = await tokenOf('dan')
    await platform.bind(userUid(issuer.issuer, 'dan'), 'owner', acme.organization)
    const ids = [
      [provider, await addUser(provider, 'dan', { active: false })],
      [second, await addUser(second, 'dan', { active: false })],
    ] as const
    for (const [at, id] of ids) {
      assert.deepEqual(await codesAt(acme.organization, token), refused)
      await setActive(at, id, true)
    }
    assert.deepEqual(await codesAt(acme.organization, token), allowed)
  })

  test('cannot undo this by deleting their account, but their organization can activate them', async () => {
    const token = await tokenOf('eve')
    const eve = userUid(issuer.issuer, 'eve')
    const id = await addUser(provider, 'eve', { active: false })
    await callAs(token, { id: eve }, deleteAccount)
    const again = await tokenOf('eve')
    await platform.bind(eve, 'owner', acme.organization)
    assert.deepEqual(await codesAt(acme.organization, again), refused)
    const forClient = await issuer.sign({ sub: 'eve', aud: 'client-of-acme' })
    assert.equal((await doors[0].call(exchange, {}, forClient)).error?.code, denied)
    await callAs(again, { id: eve }, deleteAccount)
    await setActive(provider, id, true)
    const third = await tokenOf('eve')
    await platform.bind(eve, 'owner', acme.organization)
    assert.deepEqual(await codesAt(acme.organization, third), allowed)
    await callAs(forClient, {})
  })

  test('has no roles there even if they first sign in after that', async () => {
    const byOid = await addScimProvider(platform, acme, {
      ...{ issuer: issuer.issuer, correlationRule: 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID' },
    })
    const ids = [
      [provider, 'hal', await addUser(provider, 'hal', { active: false })],
      [byOid, 'oid:ida', await addUser(byOid, 'ida', { active: false })],
    ] as const
    await addUser(byOid, 'hal', { active: false })
    await addUser(provider, 'ida', { active: false })
    for (const [at, subject, id] of ids) {
      const token = await tokenOf(subject)
      await platform.bind(userUid(issuer.issuer, subject), 'owner', acme.organization)
      assert.deepEqual(await codesAt(acme.organization, token), refused, subject)
      await setActive(at, id, true)
      assert.deepEqual(await codesAt(acme.organization, token), allowed, subject)
    }
  })

  test('stays deactivated if a change gives `active` no value', async () => {
    const id = await addUser(provider, 'fay', { active: false })
    const put = await provider.expect(200, 'PUT', `/Users/${id}`, { userName: 'fay', externalId: 'fay' })
    const removed = await patch(provider, id, { op: 'remove', path: 'active' })
    const withoutPath = await patch(provider, id, { op: 'replace', value: { displayName: 'Fay' } })
    const asNull = await provider.expect(200, 'PUT', `/Users/${id}`, {
      ...{ userName: 'fay', externalId: 'fay', active: null },
    })
    assert.deepEqual(
      [put, removed, withoutPath, asNull].map(({ active }) => active),
      [false, false, false, false],
    )
    const rows = await platform.store.query(sql`select is_active from scim_users where external_id = 'fay'`)
    assert.deepEqual(rows, [[0]])
  })

  test('does not lose roles in other organizations', async () => {
    const token = await tokenOf('gus')
    const gus = userUid(issuer.issuer, 'gus')
    await platform.bind(gus, 'owner', acme.organization)
    const evil = await platform.addOrganization('evil of gus')
    const foreign = await addScimProvider(platform, evil, { issuer: issuer.issuer })
    await addUser(foreign, 'gus', { active: false })
    assert.deepEqual(await codesAt(acme.organization, token), allowed)
  })
})
