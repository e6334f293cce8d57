// A hostile organization creates an identity provider with the issuer and the client id of another
// organization. The identity provider then also applies to the tokens of that organization's people.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { userUid } from '../../server/aip/uid.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { addMembers } from '../../server/store/external-groups.ts'
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
import { addIdentityProvider, callRest } from '../sign-in/organizations.ts'

const { register } = Auth.method
const { exchange } = SecurityTokenService.method

onEachStore('an organization that uses the client id of another organization', (engine) => {
  let issuer: ForeignIssuer
  let platform: Platform
  let doors: [Door, Door]
  let evil: ScimProvider
  let victim: TestIdentity
  let provider: string
  before(async () => {
    issuer = await startIssuer('ES256')
    platform = await startPlatform(engine, ['--trusted-issuers', issuer.issuer])
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    const oidc = { issuer: issuer.issuer, clientId: 'client-of-victim' }
    // If nothing else decides, the oldest provider is chosen.
    evil = await addScimProvider(platform, await platform.addOrganization('evil'), oidc)
    victim = await platform.addOrganization('victim')
    provider = await addIdentityProvider(platform, victim, oidc)
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
    await issuer.close()
  })

  const scopesOf = (token: unknown) =>
    JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString()).scopes

  test('cannot keep the people of that organization from registering and exchanging tokens', async () => {
    for (const [at, door] of doors.entries()) {
      const sub = `bob-${at}`
      const token = await issuer.sign({ sub, aud: 'client-of-victim' })
      assert.equal((await door.call(register, {}, token)).error, undefined, 'not provisioned at evil')
      const user = { userName: sub, externalId: sub, active: false }
      await evil.expect(201, 'POST', '/Users', user)
      assert.equal((await door.call(register, {}, token)).error, undefined, 'deactivated at evil')
      const { body } = await door.call(exchange, {}, token)
      assert.deepEqual(scopesOf(body?.token), [victim.organization])
    }
  })

  test('is not preferred to an organization whose external groups give the person roles', async () => {
    const sub = 'cyd'
    const identity = userUid(issuer.issuer, sub)
    await evil.expect(201, 'POST', '/Users', { userName: sub, externalId: sub })
    const token = await issuer.sign({ sub, aud: 'client-of-victim' })
    assert.equal((await doors[0].call(register, {}, token)).error, undefined)
    assert.deepEqual(scopesOf((await doors[0].call(exchange, {}, token)).body?.token), [
      evil.owner.organization,
    ])
    const mappings = `${platform.url}/iam/v2beta1/externalGroupRoleMappings/${provider}`
    const mapping = { externalGroupId: 'g', roleUid: builtInRole('viewer').uid, scope: victim.organization }
    await callRest('POST', mappings, victim.token, mapping)
    await platform.store.write(() => addMembers(provider, 'g', [identity]))
    for (const door of doors)
      assert.deepEqual(scopesOf((await door.call(exchange, {}, token)).body?.token), [victim.organization])
  })

  test('does not hide the reason if a person is refused by an organization in which they have a role', async () => {
    const oidc = { issuer: issuer.issuer, clientId: 'client-of-both' }
    await addScimProvider(platform, await platform.addOrganization('older'), oidc)
    const own = await addScimProvider(platform, await platform.addOrganization('own'), oidc)
    const token = await issuer.sign({ sub: 'dan', aud: 'client-of-both' })
    const reasonOf = async () => (await doors[0].call(register, {}, token)).error?.message ?? ''
    assert.match(await reasonOf(), /has not given this account access yet/)
    const { id } = await own.expect(201, 'POST', '/Users', { userName: 'dan', externalId: 'dan' })
    assert.equal((await doors[0].call(register, {}, token)).error, undefined)
    await platform.bind(userUid(issuer.issuer, 'dan'), 'viewer', own.owner.organization)
    await own.expect(200, 'PUT', `/Users/${id}`, { userName: 'dan', externalId: 'dan', active: false })
    assert.match(await reasonOf(), /has deactivated this account/)
  })
})
