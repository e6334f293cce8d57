// A tenant creates an identity provider with an issuer that other organizations use too, and with its own client. Then
// it presents tokens that other people got when they signed in to that client.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import {
  IdentityProviderSchema,
  IdentityProvidersService,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { Code } from '../../server/aip/code.ts'
import { userUid } from '../../server/aip/uid.ts'
import { verifyOrganization } from '../../server/commands/verify.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { identityProviders } from '../../server/resources/iam/identity-providers/table.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { discoveryPath, startIssuer } from '../sign-in/foreign-issuer.ts'

const { exchange } = SecurityTokenService.method
const { createGroup, getGroup, listGroups } = GroupsService.method
const { createIdentityProvider } = IdentityProvidersService.method
const { register } = Auth.method

const emailClaims = { email: 'victim@acme.example', email_verified: true }

onEachStore('a tenant with its own client at a shared issuer', (engine) => {
  let issuer: ForeignIssuer
  let platform: Platform
  let doors: Door[]
  let acme: TestIdentity
  let evil: TestIdentity
  before(async () => {
    issuer = await startIssuer('ES256')
    platform = await startPlatform(engine, ['--trusted-issuers', issuer.issuer, '--org-creation', 'anyone'])
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    acme = await platform.addOrganization('acme.example')
    await verifyOrganization(platform.store, acme.organization, { isVerified: true, now: Date.now() })
    evil = await platform.addOrganization('evil.example')
    await addProvider(acme, acme.organization, 'client-of-acme')
    await addProvider(evil, evil.organization, 'client-of-evil')
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
    await issuer.close()
  })

  async function succeed(method: DescMethod, request: JsonObject, token: string): Promise<JsonObject> {
    const { body, error } = await (doors[0] as Door).call(method, request, token)
    assert.ok(body, error?.message)
    return body
  }

  const addProvider = (owner: TestIdentity, parent: string, clientId: string) => {
    const oidc = { issuer: issuer.issuer, clientId, pkceEnabled: true }
    const identityProvider = { name: clientId, defaultRole: builtInRole('viewer').uid, oidc }
    return succeed(createIdentityProvider, { parent, identityProvider }, owner.token)
  }

  /** A person who owns acme. They registered with a token for its client, and signed in to the client of evil. */
  async function addVictim(sub: string): Promise<{ uid: string; stolen: string }> {
    const own = await issuer.sign({ sub, ...emailClaims, aud: 'client-of-acme' })
    await succeed(register, {}, own)
    const uid = userUid(issuer.issuer, sub)
    await platform.bind(uid, 'owner', acme.organization)
    return { uid, stolen: await issuer.sign({ sub, ...emailClaims, aud: 'client-of-evil' }) }
  }

  test('gets no access to other organizations of the person', async () => {
    for (const door of doors) {
      const { uid, stolen } = await addVictim(`victim-${door.name}`)
      // Registering with the stolen token must not help.
      assert.equal((await door.call(register, {}, stolen)).error, undefined)
      for (const request of [{}, { identity: uid }, { scopes: [acme.organization] }]) {
        const { body } = await door.call(exchange, request, stolen)
        const token = String(body?.token)
        assert.equal((await door.call(listGroups, {}, token)).body?.totalCount, '0')
        const { error } = await door.call(getGroup, { uid: acme.organization }, token)
        assert.equal(error?.code, Code.PERMISSION_DENIED)
        const founded = await door.call(createGroup, { group: { name: 'founded' } }, token)
        assert.equal(founded.error?.code, Code.PERMISSION_DENIED)
        // A token obtained in exchange for the limited token is limited too.
        const again = await door.call(exchange, {}, token)
        assert.equal((await door.call(listGroups, {}, String(again.body?.token))).body?.totalCount, '0')
      }
    }
  })

  test('does not affect the person: tokens for the client of acme are not limited to a group', async () => {
    const { organization } = acme
    // A copy of the provider, with the client of acme, in another organization.
    await addProvider(evil, evil.organization, 'client-of-acme')
    for (const door of doors) {
      await addVictim(`owner-${door.name}`)
      const own = await issuer.sign({ sub: `owner-${door.name}`, ...emailClaims, aud: 'client-of-acme' })
      const { body } = await door.call(exchange, {}, own)
      const group = await door.call(getGroup, { uid: organization }, String(body?.token))
      assert.equal(group.body?.uid, organization)
    }
  })

  test('cannot shut out later providers with the same issuer by creating a thousand providers', async () => {
    const value = { issuer: issuer.issuer, clientId: 'client-of-many' }
    const copies = Array.from({ length: 1001 }, (_, at) => {
      const configuration = { case: 'oidc', value } as const
      const draft = create(IdentityProviderSchema, { name: `copy ${at}`, configuration })
      draft.defaultRole = builtInRole('viewer').uid
      const uid = `${evil.organization}/${at.toString(16).padStart(16, '0')}`
      return [draft, { uid, now: 1, columns: { client_secret: '' } }] as const
    })
    await platform.store.write(() => createMany(identityProviders, copies))
    const late = await platform.addOrganization('late.example')
    const { uid: identityProvider = '' } = await addProvider(late, late.organization, 'client-of-late')
    for (const door of doors) {
      const own = await issuer.sign({ sub: `late-${door.name}`, aud: 'client-of-late' })
      assert.equal((await door.call(register, {}, own)).error, undefined)
      for (const request of [{}, { identityProvider }])
        assert.equal((await door.call(exchange, request, own)).error, undefined)
    }
  })

  test('cannot divert members of an unverified organization through an older copy of its provider', async () => {
    const small = await platform.addOrganization('small.example')
    await addProvider(evil, evil.organization, 'client-of-small')
    await addProvider(small, small.organization, 'client-of-small')
    for (const door of doors) {
      const token = await issuer.sign({ sub: `small-${door.name}`, aud: 'client-of-small' })
      await succeed(register, {}, token)
      await platform.bind(userUid(issuer.issuer, `small-${door.name}`), 'viewer', small.organization)
      const { body } = await door.call(exchange, {}, token)
      const listed = await door.call(listGroups, {}, String(body?.token))
      assert.deepEqual(
        (listed.body?.groups as { uid: string }[]).map(({ uid }) => uid),
        [small.organization],
      )
    }
  })

  test('as administrator of a sub-group gets access to that group only', async () => {
    const sub = await succeed(createGroup, { parent: acme.organization, group: { name: 'sub' } }, acme.token)
    const uid = String(sub.uid)
    await addProvider(acme, uid, 'client-of-sub')
    for (const door of doors) {
      await addVictim(`member-${door.name}`)
      const stolen = await issuer.sign({ sub: `member-${door.name}`, ...emailClaims, aud: 'client-of-sub' })
      const { body } = await door.call(exchange, {}, stolen)
      const token = String(body?.token)
      assert.equal((await door.call(getGroup, { uid }, token)).body?.uid, uid)
      const { error } = await door.call(getGroup, { uid: acme.organization }, token)
      assert.equal(error?.code, Code.PERMISSION_DENIED)
    }
  })

  test('cannot make the server call an issuer that no provider has', async () => {
    const unknown = await startIssuer('ES256')
    try {
      for (const door of doors) {
        const { error } = await door.call(exchange, {}, await unknown.sign({ aud: 'client-of-evil' }))
        assert.equal(error?.code, Code.PERMISSION_DENIED)
      }
      assert.equal(unknown.requestCounts.get(discoveryPath), undefined)
    } finally {
      await unknown.close()
    }
  })
})

// On SQLite only, since the token is refused before the call reaches the store.
describe('a garbage token', () => {
  test('is answered with Unauthenticated by every call that takes a token, whatever else the request contains', async () => {
    const platform = await startPlatform('sqlite')
    const doors = [restDoor(platform.url), grpcDoor(platform.url)]
    const { exchangeRefreshToken } = SecurityTokenService.method
    const calls: [DescMethod, JsonObject][] = [
      [exchange, {}],
      [exchange, { identity: platform.owner.identity }],
      [exchange, { identity: 'no uid', aud: ['https://elsewhere.test'] }],
      [exchangeRefreshToken, {}],
      [exchangeRefreshToken, { aud: ['https://elsewhere.test'] }],
      [register, {}],
      [register, { code: 'no such code' }],
      [Auth.method.validate, {}],
      [listGroups, {}],
    ]
    const text = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    try {
      for (const door of doors)
        for (const token of [
          ...['none', 'garbage', 'AAAA', 'a.b', 'a.b.c', '...', 'a.b.c.d.e', '!', 'null', '{}'],
          ...[`${text({ alg: 'none' })}.${text({})}.`, `${text([])}.${text([])}.x`, 'x'.repeat(9000)],
        ])
          for (const [method, request] of calls) {
            const { error } = await door.call(method, request, token)
            assert.equal(error?.code, Code.UNAUTHENTICATED, `${method.name} ${token.slice(0, 20)}`)
          }
    } finally {
      for (const door of doors) door.close()
      await platform.stop()
    }
  })
})
