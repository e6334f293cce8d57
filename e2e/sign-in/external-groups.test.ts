// Roles from groups that an organization's provider names when a person signs in (`groups_claim`).
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { userUid } from '@stemma/server/aip/uid.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import { sql } from '@stemma/server/store/sql.ts'
import type { TestIdentity } from '@stemma/server/testing/identities.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import type { Configuration } from 'openid-client'
import * as oidc from 'openid-client'
import type { OrganizationProvider } from './organization-provider.ts'
import { startProvider } from './organization-provider.ts'
import { addIdentityProvider, callRest } from './organizations.ts'
import { begin, redeem, relyingParty, startSignInPlatform } from './sign-in.ts'
import { Visitor } from './visitor.ts'

const hourMs = 60 * 60_000

onEachStore("groups that an organization's provider names", (engine) => {
  /** The claims of people. Each test has its own person. */
  const people: Record<string, { groups?: unknown }> = {}
  let platform: Platform
  let acme: OrganizationProvider
  let party: Configuration
  let owner: TestIdentity
  let sso: string
  let clockOffset = 0
  const now = () => Date.now() + clockOffset
  before(async () => {
    platform = await startSignInPlatform(engine, [], { now })
    party = await relyingParty(platform.url)
    acme = await startProvider(`${platform.url}/oauth/callback`, people, {
      claims: { openid: ['sub', 'groups'] },
    })
    owner = platform.owner
    sso = await addProvider()
    await addMapping(sso, 'developers', 'owner')
    await addMapping(sso, 'readers', 'viewer')
  })
  after(async () => {
    await platform.stop()
    await acme.close()
  })

  const addProvider = () =>
    addIdentityProvider(platform, owner, { issuer: acme.issuer, groupsClaim: 'groups' })

  const call = (method: string, path: string, body?: JsonObject) =>
    callRest(method, `${platform.url}/iam/v2beta1/${path}`, owner.token, body)

  const addMapping = (provider: string, externalGroupId: string, role: string) =>
    call('POST', `externalGroupRoleMappings/${provider}`, {
      ...{ externalGroupId, roleUid: builtInRole(role).uid, scope: owner.organization },
    })

  /** Signs in at the provider, which names these groups. */
  async function signIn(login: string, groups: unknown, provider = sso) {
    people[login] = { groups }
    const begun = await begin(party, { idp_id: provider })
    const visitor = new Visitor(platform.url, acme.issuer)
    const end = await acme.signIn(visitor, await visitor.open(begun.url), login)
    return redeem(party, begun, end)
  }

  /** Whether a token may create a group. Of the roles in this test, only `owner` allows it. */
  async function isOwner(token: string): Promise<boolean> {
    const response = await fetch(`${platform.url}/iam/v2beta1/groups/${owner.organization}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'new' }),
    })
    assert.ok([200, 403].includes(response.status), await response.text())
    return response.status === 200
  }

  const rolesOf = async (login: string) => {
    const { roleBindings } = await call('GET', `roleBindings?identity=${userUid(acme.issuer, login)}`)
    return (roleBindings as { role: { name: string } }[]).map(({ role }) => role.name).sort()
  }

  test('give their mapped roles, until a sign-in no longer names them', async () => {
    const first = await signIn('ada', ['developers', 'unmapped', 7])
    assert.equal(await isOwner(first.access_token), true)
    assert.deepEqual(await rolesOf('ada'), ['owner', 'viewer'])
    const second = await signIn('ada', ['readers'])
    for (const { access_token } of [first, second]) assert.equal(await isOwner(access_token), false)
    assert.deepEqual(await rolesOf('ada'), ['viewer', 'viewer'])
    await signIn('ada', undefined)
    assert.deepEqual(await rolesOf('ada'), ['viewer'], 'only the default role')
  })

  test('are stored only if they have a mapping', async () => {
    const many = Array.from({ length: 300 }, (_, at) => `group ${at}`)
    await signIn('bob', [...many, 'readers'])
    const rows = await platform.store.query(
      sql`select 1 from external_group_members where identity = ${userUid(acme.issuer, 'bob')}`,
    )
    assert.equal(rows.length, 1)
  })

  test('give their roles for an hour, and a refresh does not prolong it', async () => {
    const tokens = await signIn('cyd', 'developers')
    const subject = userUid(acme.issuer, 'cyd')
    clockOffset = hourMs - 60_000
    assert.equal(await isOwner(await platform.tokenOf(subject, now())), true)
    clockOffset = hourMs + 60_000
    assert.equal(await isOwner(await platform.tokenOf(subject, now())), false)
    clockOffset = 0
    await platform.store.write(function* () {
      yield sql`update external_group_members set expire_time = ${now()} where identity = ${subject}`
    })
    const refreshed = await oidc.refreshTokenGrant(party, tokens.refresh_token ?? '')
    assert.equal(await isOwner(refreshed.access_token), false)
    assert.equal(await isOwner((await signIn('cyd', 'developers')).access_token), true)
  })

  test('give no roles if another provider names them', async () => {
    const tokens = await signIn('eve', ['developers'], await addProvider())
    assert.equal(await isOwner(tokens.access_token), false)
    assert.deepEqual(await rolesOf('eve'), ['viewer'])
  })
})
