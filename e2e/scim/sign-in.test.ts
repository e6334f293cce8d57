// How provisioning by SCIM decides who may sign in through an identity provider, and ends sign-ins.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import * as oidc from 'openid-client'
import { freePort } from '../../api/testing/free-port.ts'
import { Code } from '../../server/aip/code.ts'
import { userUid } from '../../server/aip/uid.ts'
import type { App } from '../../server/app.ts'
import { startApp } from '../../server/app.ts'
import { openLog } from '../../server/log.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { externalGroupUid } from '../../server/store/external-groups.ts'
import { sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { OrganizationProvider } from '../sign-in/organization-provider.ts'
import { clientSecret, startProvider } from '../sign-in/organization-provider.ts'
import { addIdentityProvider, addVerifiedOrganization, callRest } from '../sign-in/organizations.ts'
import { begin, redeem, relyingParty, startSignInPlatform } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'
import type { ScimProvider } from './scim-platform.ts'
import { addScimProvider, enableScim } from './scim-platform.ts'

const { exchange, exchangeRefreshToken } = SecurityTokenService.method
const deactivated = /your organization has deactivated this account/i
const notProvisioned = /your organization has not given this account access yet/i

const people = {
  ada: { name: 'Ada', email: 'ada@acme.example', email_verified: true },
  bob: { name: 'Bob' },
  cyd: { name: 'Cyd', oid: 'object-of-cyd' },
}

onEachStore('a person whom an organization provisions', (engine) => {
  let platform: Platform
  let copy: App
  let doors: Door[]
  let login: OrganizationProvider
  let party: oidc.Configuration
  let acme: ScimProvider
  before(async () => {
    platform = await startSignInPlatform(engine)
    copy = await startApp({ ...platform.config, port: await freePort() }, openLog('silent'))
    doors = [restDoor(platform.url), grpcDoor(`http://127.0.0.1:${copy.port}`)]
    party = await relyingParty(platform.url)
    login = await startProvider(`${platform.url}/oauth/callback`, people)
    const owner = await addVerifiedOrganization(platform, 'acme.example')
    acme = await addScimProvider(platform, owner, { issuer: login.issuer })
  })
  after(async () => {
    for (const door of doors ?? []) door.close()
    await copy?.stop(true)
    await platform?.stop()
    await login?.close()
  })

  const addUser = ({ expect }: ScimProvider, externalId: string, values: JsonObject = {}) =>
    expect(201, 'POST', '/Users', {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      ...{ userName: `${externalId}@acme.example`, externalId, active: true, ...values },
    })

  const setActive = (provider: ScimProvider, id: unknown, value: unknown) =>
    provider.expect(200, 'PATCH', `/Users/${id}`, {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations: [{ op: 'Replace', path: 'active', value }],
    })

  /** Signs in through a provider; returns the last page. */
  async function visit(provider: string, name: string, visitor = newVisitor()) {
    const begun = await begin(party, { idp_id: provider })
    const page = await visitor.open(begun.url)
    return { begun, visitor, end: await login.signIn(visitor, page, name) }
  }
  const newVisitor = () => new Visitor(platform.url, login.issuer)

  async function signIn(provider: string, name: string) {
    const { begun, visitor, end } = await visit(provider, name)
    const tokens = await redeem(party, begun, end)
    return { visitor, tokens, token: tokens.access_token, identity: tokens.claims()?.sub ?? '' }
  }

  /** Signs in as published clients do. Returns the access token and the refresh token. */
  async function signInWithPublishedClient(provider: string, name: string) {
    const visitor = newVisitor()
    const redirect = 'http://localhost:8085/callback'
    const query = new URLSearchParams({
      exit: 'redirect',
      redirect,
      create_refresh_token: 'true',
      idp_id: provider,
    })
    const end = await login.signIn(visitor, await visitor.open(`/oauth?${query}`), name)
    const { token = '', refresh_token: refreshToken = '' } = Object.fromEntries(new URL(end.url).searchParams)
    return { token, refreshToken }
  }

  /** The distinct codes of calls that read, write and exchange, to both copies. */
  async function codesOf(token: string): Promise<number[]> {
    const calls = doors.flatMap((door) => [
      door.call(GroupsService.method.listGroups, { pageSize: 1 }, token),
      door.call(GroupsService.method.createGroup, { group: { name: 'made' } }, token),
      door.call(exchange, { identity: '' }, token),
    ])
    return [...new Set((await Promise.all(calls)).map(({ error }) => error?.code ?? 0))]
  }

  /** A token of an identity that everybody who has signed in can assume. */
  async function assumedBy(token: string): Promise<string> {
    const { organization, token: ownerToken } = platform.owner
    const claimMatch = { issuer: platform.config.authUrl, subjectPattern: '[0-9a-f]{40}' }
    const request = { parent: organization, identity: { name: 'everybody', claimMatch } }
    const [door] = doors as [Door, Door]
    const made = await door.call(IdentitiesService.method.createIdentity, request, ownerToken)
    const { body, error } = await door.call(exchange, { identity: String(made.body?.uid) }, token)
    assert.ok(body, error?.message)
    return String(body.token)
  }

  /** The distinct codes of a read call to both copies. */
  const readCodesOf = async (token: string) => {
    const results = await Promise.all(
      doors.map((door) => door.call(GroupsService.method.listGroups, { pageSize: 1 }, token)),
    )
    return [...new Set(results.map(({ error }) => error?.code ?? 0))]
  }

  test('cannot sign in without a SCIM user, which is found by its externalId alone', async () => {
    const refused = await visit(acme.uid, 'ada')
    assert.equal(refused.end.status, 403)
    assert.match(refused.end.alert ?? '', notProvisioned)
    const [person] = await platform.store.query(
      sql`select uid from identities where uid = ${userUid(login.issuer, 'ada')}`,
    )
    assert.equal(person, undefined, 'no account was created')
    const { id: other } = await addUser(acme, 'not-ada', {
      ...{ userName: 'ada@acme.example', emails: [{ value: 'ada@acme.example', primary: true }] },
    })
    assert.match((await visit(acme.uid, 'ada')).end.alert ?? '', notProvisioned, 'addresses identify nobody')
    await acme.expect(204, 'DELETE', `/Users/${other}`)
    const { id } = await addUser(acme, 'ada')
    const { identity, tokens } = await signIn(acme.uid, 'ada')
    assert.equal(identity, userUid(login.issuer, 'ada'))
    assert.equal(tokens.claims()?.acr, undefined, 'the id token does not name the provider')
    const [row] = await platform.store.query(sql`select identity from scim_users where external_id = 'ada'`)
    assert.equal(row?.[0], identity)
    const [binding] = await platform.store.query(
      sql`select uid from role_bindings where identity = ${identity}`,
    )
    assert.ok(binding, 'the default role was given')
    await acme.expect(204, 'DELETE', `/Users/${id}`)
  })

  test('loses access at once on every copy when deactivated, and can sign in again when reactivated', async () => {
    const [{ id }, { id: bystanderId }] = [await addUser(acme, 'ada'), await addUser(acme, 'bob')]
    const { token, tokens, visitor, identity } = await signIn(acme.uid, 'ada')
    const published = await signInWithPublishedClient(acme.uid, 'ada')
    const assumed = await assumedBy(token)
    const bystander = await signIn(acme.uid, 'bob')
    for (const issued of [token, published.token]) assert.deepEqual(await codesOf(issued), [0])
    assert.deepEqual(await readCodesOf(assumed), [0])

    await setActive(acme, id, 'False')
    for (const issued of [token, published.token, assumed])
      assert.deepEqual(await codesOf(issued), [Code.UNAUTHENTICATED])
    assert.deepEqual(
      await platform.store.query(sql`select id from sign_ins where identity = ${identity}`),
      [],
      'ended sign-ins are not listed',
    )
    await assert.rejects(oidc.refreshTokenGrant(party, tokens.refresh_token ?? ''))
    const { error } = await (doors[0] as Door).call(exchangeRefreshToken, {}, published.refreshToken)
    assert.equal(error?.code, Code.UNAUTHENTICATED)
    assert.match((await visitor.open((await begin(party)).url)).title, /^Sign in/, 'the session has ended')
    const refused = await visit(acme.uid, 'ada')
    assert.equal(refused.end.status, 403)
    assert.match(refused.end.alert ?? '', deactivated)
    assert.deepEqual(await codesOf(bystander.token), [0])

    await setActive(acme, id, true)
    for (const issued of [token, published.token, assumed])
      assert.deepEqual(await codesOf(issued), [Code.UNAUTHENTICATED], 'earlier sign-ins remain ended')
    assert.deepEqual(await codesOf((await signIn(acme.uid, 'ada')).token), [0])
    for (const user of [id, bystanderId]) await acme.expect(204, 'DELETE', `/Users/${user}`)
  })

  test('loses access when the user is deleted or gets another externalId, until provisioned again', async () => {
    const { id } = await addUser(acme, 'ada')
    const first = await signIn(acme.uid, 'ada')
    await acme.expect(204, 'DELETE', `/Users/${id}`)
    assert.deepEqual(await readCodesOf(first.token), [Code.UNAUTHENTICATED])
    assert.match((await visit(acme.uid, 'ada')).end.alert ?? '', notProvisioned)
    const { id: again } = await addUser(acme, 'ada')
    const second = await signIn(acme.uid, 'ada')
    assert.deepEqual(await readCodesOf(second.token), [0])
    assert.deepEqual(await readCodesOf(first.token), [Code.UNAUTHENTICATED])
    const renamed = { userName: 'ada@acme.example', externalId: 'somebody-else', active: true }
    await acme.expect(200, 'PUT', `/Users/${again}`, renamed)
    assert.deepEqual(await readCodesOf(second.token), [Code.UNAUTHENTICATED])
    await acme.expect(200, 'PUT', `/Users/${again}`, { ...renamed, externalId: 'ada' })
    assert.deepEqual(await readCodesOf((await signIn(acme.uid, 'ada')).token), [0])
    await acme.expect(204, 'DELETE', `/Users/${again}`)
  })

  test('is found by the claim oid if the provider correlates by it', async () => {
    const owner = await addVerifiedOrganization(platform, 'entra.example')
    const entra = await addScimProvider(platform, owner, {
      ...{ issuer: login.issuer, correlationRule: 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID' },
    })
    await addUser(entra, 'cyd')
    assert.match(
      (await visit(entra.uid, 'cyd')).end.alert ?? '',
      notProvisioned,
      'the subject does not count',
    )
    const { id } = await addUser(entra, 'object-of-cyd')
    const { token, identity } = await signIn(entra.uid, 'cyd')
    assert.equal(identity, userUid(login.issuer, 'oid:object-of-cyd'))
    await entra.expect(204, 'DELETE', `/Users/${id}`)
    assert.deepEqual(await readCodesOf(token), [Code.UNAUTHENTICATED])
    await addUser(entra, 'object-of-cyd')
    assert.deepEqual(await readCodesOf((await signIn(entra.uid, 'cyd')).token), [0])
  })

  test('is not affected by the provisioning of another organization with the same issuer', async () => {
    const owner = await addVerifiedOrganization(platform, 'other.example')
    const other = await addScimProvider(platform, owner, { issuer: login.issuer })
    const { id } = await addUser(acme, 'bob')
    const atAcme = await signIn(acme.uid, 'bob')
    // The other organization names a stranger, who has never signed in through its provider.
    const { id: named } = await addUser(other, 'bob', { emails: [{ value: 'bob@acme.example' }] })
    await setActive(other, named, false)
    assert.deepEqual(await codesOf(atAcme.token), [0])
    await other.expect(204, 'DELETE', `/Users/${named}`)
    assert.deepEqual(await codesOf(atAcme.token), [0])
    // The person joins the other organization as well, which then deactivates them.
    const { id: joined } = await addUser(other, 'bob')
    const atOther = await signIn(other.uid, 'bob')
    assert.equal(atOther.identity, atAcme.identity, 'it is the same person')
    await setActive(other, joined, false)
    assert.deepEqual(await codesOf(atOther.token), [Code.UNAUTHENTICATED])
    assert.deepEqual(await codesOf(atAcme.token), [0])
    assert.deepEqual(await codesOf((await signIn(acme.uid, 'bob')).token), [0])
    assert.match((await visit(other.uid, 'bob')).end.alert ?? '', deactivated)
    await acme.expect(204, 'DELETE', `/Users/${id}`)
  })

  test('remains deactivated while provisioning is paused, and others can sign in then', async () => {
    const owner = await addVerifiedOrganization(platform, 'paused.example')
    const paused = await addScimProvider(platform, owner, { issuer: login.issuer })
    const { id } = await addUser(paused, 'ada', { active: false })
    const path = `${platform.url}/iam/v2beta1/identityProviders/${paused.uid}`
    const { scim } = await callRest('GET', path, owner.token)
    const { etag = '' } = scim as { etag?: string }
    await callRest('POST', `${path}:setScimEnabled`, owner.token, { enabled: false, etag })
    assert.equal((await paused.send('GET', `/Users/${id}`)).status, 403)
    assert.match((await visit(paused.uid, 'ada')).end.alert ?? '', deactivated)
    assert.deepEqual(await readCodesOf((await signIn(paused.uid, 'bob')).token), [0])
  })

  test('remains signed out when the identity provider is deleted', async () => {
    const owner = await addVerifiedOrganization(platform, 'gone.example')
    const gone = await addScimProvider(platform, owner, { issuer: login.issuer })
    const { id } = await addUser(gone, 'ada')
    const { token } = await signIn(gone.uid, 'ada')
    await setActive(gone, id, false)
    await callRest('DELETE', `${platform.url}/iam/v2beta1/identityProviders/${gone.uid}`, owner.token)
    assert.deepEqual(await readCodesOf(token), [Code.UNAUTHENTICATED])
    assert.equal((await gone.send('GET', '/Users')).status, 401)
    const rows = await platform.store.query(sql`select uid from scim_users where provider = ${gone.uid}`)
    assert.equal(rows.length, 0)
  })

  test('stays signed in when provisioning is turned on later, but needs a SCIM user to sign in again', async () => {
    const owner = await addVerifiedOrganization(platform, 'later.example')
    const uid = await addIdentityProvider(platform, owner, { issuer: login.issuer })
    const { token } = await signIn(uid, 'bob')
    const later = await enableScim(platform, owner, uid)
    assert.deepEqual(await readCodesOf(token), [0], 'existing sign-ins go on')
    assert.match((await visit(uid, 'bob')).end.alert ?? '', notProvisioned)
    const { id } = await addUser(later, 'bob')
    assert.deepEqual(await readCodesOf(token), [0])
    await setActive(later, id, false)
    assert.deepEqual(await readCodesOf(token), [Code.UNAUTHENTICATED], 'sign-ins before provisioning end too')
    await setActive(later, id, true)
    assert.deepEqual(await readCodesOf((await signIn(uid, 'bob')).token), [0])
  })

  test('is signed out when the issuer of the provider changes', async () => {
    const owner = await addVerifiedOrganization(platform, 'moved.example')
    const uid = await addIdentityProvider(platform, owner, { issuer: login.issuer })
    const { token } = await signIn(uid, 'bob')
    const other = await addVerifiedOrganization(platform, 'stayed.example')
    const elsewhere = await signIn(
      await addIdentityProvider(platform, other, { issuer: login.issuer }),
      'bob',
    )
    assert.deepEqual(await readCodesOf(token), [0])
    await callRest('PATCH', `${platform.url}/iam/v2beta1/identityProviders/${uid}`, owner.token, {
      oidc: { issuer: `${login.issuer}/moved`, clientSecret },
    })
    assert.deepEqual(await readCodesOf(token), [Code.UNAUTHENTICATED])
    assert.deepEqual(await readCodesOf(elsewhere.token), [0])
  })

  test('has the roles that are mapped to their groups, as long as they are members', async () => {
    const owner = await addVerifiedOrganization(platform, 'roles.example')
    const provider = await addScimProvider(platform, owner, { issuer: login.issuer })
    const { organization } = owner
    await callRest(
      'POST',
      `${platform.url}/iam/v2beta1/externalGroupRoleMappings/${provider.uid}`,
      owner.token,
      {
        ...{ externalGroupId: 'group-1', roleUid: builtInRole('owner').uid, scope: organization },
      },
    )
    const { id: ada } = await addUser(provider, 'ada')
    const { id: group } = await provider.expect(201, 'POST', '/Groups', {
      ...{ displayName: 'Engineers', externalId: 'group-1', members: [{ value: String(ada) }] },
    })
    const { token } = await signIn(provider.uid, 'ada')
    const codes = async () => {
      const request = { parent: organization, group: { name: 'made' } }
      const results = await Promise.all(
        doors.map((door) => door.call(GroupsService.method.createGroup, request, token)),
      )
      return results.map(({ error }) => error?.code ?? 0)
    }
    assert.deepEqual(await codes(), [0, 0])
    await provider.expect(204, 'DELETE', `/Groups/${group}`)
    assert.deepEqual(await codes(), [Code.PERMISSION_DENIED, Code.PERMISSION_DENIED])
    await provider.expect(201, 'POST', '/Groups', {
      ...{ displayName: 'Engineers', externalId: 'group-1', members: [{ value: String(ada) }] },
    })
    assert.deepEqual(await codes(), [0, 0])
    await setActive(provider, ada, false)
    assert.deepEqual(await codes(), [Code.UNAUTHENTICATED, Code.UNAUTHENTICATED])
  })

  test('is a member of mapped external groups while active and in the SCIM group, after a first sign-in', async () => {
    const owner = await addVerifiedOrganization(platform, 'groups.example')
    const provider = await addScimProvider(platform, owner, { issuer: login.issuer })
    const identity = userUid(login.issuer, 'ada')
    const names = ['group-1', 'by name', 'renamed', 'second']
    const groupsOfAda = async () => {
      const rows = await platform.store.query(
        sql`select external_group from external_group_members where identity = ${identity} and provider = ${provider.uid}`,
      )
      const found = new Set(rows.map(([uid]) => uid))
      return names.filter((name) => found.has(externalGroupUid(provider.uid, name)))
    }
    const patchGroup = (id: unknown, ...Operations: JsonObject[]) =>
      provider.expect(200, 'PATCH', `/Groups/${id}`, {
        schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
        Operations,
      })
    const { id: ada } = await addUser(provider, 'ada')
    const member = { value: String(ada) }
    const { id: byId } = await provider.expect(201, 'POST', '/Groups', {
      ...{ displayName: 'Engineers', externalId: 'group-1', members: [member] },
    })
    const { id: byName } = await provider.expect(201, 'POST', '/Groups', { displayName: 'by name' })
    const map = (externalGroupId: string) =>
      callRest('POST', `${platform.url}/iam/v2beta1/externalGroupRoleMappings/${provider.uid}`, owner.token, {
        ...{ externalGroupId, roleUid: builtInRole('viewer').uid, scope: owner.organization },
      })
    for (const name of names.filter((name) => name !== 'group-1')) await map(name)
    assert.deepEqual(await groupsOfAda(), [], 'the person has not signed in')
    await signIn(provider.uid, 'ada')
    assert.deepEqual(await groupsOfAda(), [], 'the group has no mapping')
    await map('group-1')
    assert.deepEqual(await groupsOfAda(), ['group-1'])
    await patchGroup(byName, { op: 'Add', path: 'members', value: [member] })
    assert.deepEqual(await groupsOfAda(), ['group-1', 'by name'])
    await setActive(provider, ada, false)
    assert.deepEqual(await groupsOfAda(), [])
    await setActive(provider, ada, true)
    assert.deepEqual(await groupsOfAda(), ['group-1', 'by name'])
    await patchGroup(byName, { op: 'Replace', path: 'displayName', value: 'renamed' })
    assert.deepEqual(await groupsOfAda(), ['group-1', 'renamed'])
    const { id: twin } = await provider.expect(201, 'POST', '/Groups', {
      displayName: 'renamed',
      members: [member],
    })
    await patchGroup(byName, { op: 'remove', path: `members[value eq "${ada}"]` })
    assert.deepEqual(await groupsOfAda(), ['group-1', 'renamed'], 'another group of this name has the member')
    await provider.expect(204, 'DELETE', `/Groups/${twin}`)
    assert.deepEqual(await groupsOfAda(), ['group-1'])
    await patchGroup(byId, { op: 'Remove', path: 'members', value: [member] })
    assert.deepEqual(await groupsOfAda(), [])
    await patchGroup(byId, { op: 'Add', value: { members: [member] } })
    await provider.expect(204, 'DELETE', `/Users/${ada}`)
    assert.deepEqual(await groupsOfAda(), [])
    const { members } = await provider.expect(200, 'GET', `/Groups/${byId}`)
    assert.equal(members, undefined)
  })
})
