// Registration with a token of an organization's provider or of this server, with or without an invite.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { userUid } from '@stemma/server/aip/uid.ts'
import { disablePerson } from '@stemma/server/auth/sign-outs.ts'
import { verifyOrganization } from '@stemma/server/commands/verify.ts'
import { cloudEventsOf } from '@stemma/server/outgoing-events.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import { sql } from '@stemma/server/store/sql.ts'
import type { Door } from '@stemma/server/testing/doors.ts'
import { grpcDoor, restDoor } from '@stemma/server/testing/doors.ts'
import type { TestIdentity } from '@stemma/server/testing/identities.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { startPlatform } from '@stemma/server/testing/platform.ts'
import { sealedEvents } from '@stemma/server/testing/sealed-events.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { decodeJwt } from 'jose'
import { enableScim } from '../scim/scim-platform.ts'
import type { ForeignIssuer } from './foreign-issuer.ts'
import { discoveryPath, startIssuer } from './foreign-issuer.ts'

const { register } = Auth.method
const { exchange } = SecurityTokenService.method
const { listGroups } = GroupsService.method
const { createGroupInvite } = GroupInvitesService.method
const { createIdentityProvider } = IdentityProvidersService.method

onEachStore('registration', (engine) => {
  let issuer: ForeignIssuer
  let platform: Platform
  let doors: Door[]
  let acme: TestIdentity
  let provider: string
  before(async () => {
    issuer = await startIssuer('ES256')
    platform = await startPlatform(engine, ['--trusted-issuers', issuer.issuer])
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    acme = await platform.addOrganization('acme.example')
    await verifyOrganization(platform.store, acme.organization, { isVerified: true, now: Date.now() })
    const made = await asOwner(createIdentityProvider, {
      identityProvider: {
        name: 'acme',
        defaultRole: builtInRole('viewer').uid,
        oidc: { issuer: issuer.issuer, clientId: 'stemma-at-acme', pkceEnabled: true },
      },
    })
    provider = String(made.uid)
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
    await issuer.close()
  })

  async function asOwner(method: Parameters<Door['call']>[0], request: JsonObject): Promise<JsonObject> {
    const [door] = doors as [Door]
    const { body, error } = await door.call(method, { parent: acme.organization, ...request }, acme.token)
    assert.ok(body, error?.message)
    return body
  }

  const invite = async (fields: JsonObject = {}) => {
    const groupInvite = { roleUid: builtInRole('editor').uid, ttl: '600s', ...fields }
    return String((await asOwner(createGroupInvite, { groupInvite })).code)
  }

  const rolesOf = async (identity: string) => {
    const rows = await platform.store.query(
      sql`select r.name from role_bindings b join roles r on r.uid = b.role where b.identity = ${identity}`,
    )
    return rows.map(([name]) => name)
  }

  const exists = async (identity: string) =>
    (await platform.store.query(sql`select uid from identities where uid = ${identity}`)).length > 0

  test('creates a person once and accepts their invite', async () => {
    for (const door of doors) {
      const sub = `person-${door.name}`
      const uid = userUid(issuer.issuer, sub)
      const token = await issuer.sign({ sub })
      for (let count = 0; count < 2; count++) {
        const { body, error } = await door.call(register, {}, token)
        assert.ok(body, error?.message)
        assert.deepEqual([body.identity, body.group ?? ''], [uid, ''])
      }
      assert.deepEqual(await rolesOf(uid), [], 'registration grants no role')
      const { body } = await door.call(register, { code: await invite(), identityId: uid }, token)
      assert.deepEqual(body, { identity: uid, group: acme.organization })
      assert.deepEqual(await rolesOf(uid), ['editor'])
      const rows = await sealedEvents(platform.store, acme.organization)
      const event = rows
        .map(cloudEventsOf(platform.config))
        .findLast((made) => made?.attributes.type === 'dev.stemma.api.auth.registered.v1')
      const { actor, body: session } = JSON.parse(event?.data ?? '{}')
      assert.deepEqual([actor?.subject, session], [uid, { identity: uid, group: acme.organization }])
    }
  })

  test('accepts a token whose audience is the provider’s client or this server', async () => {
    for (const door of doors) {
      for (const aud of ['stemma-at-acme', 'http://stemma.test', 'stemma.test', ['x', 'stemma-at-acme']]) {
        const { error } = await door.call(register, {}, await issuer.sign({ sub: 'any', aud }))
        assert.equal(error, undefined)
      }
      const { error } = await door.call(register, {}, await issuer.sign({ sub: 'stranger', aud: 'another' }))
      assert.equal(error?.code, 7)
      assert.equal(await exists(userUid(issuer.issuer, 'stranger')), false)
    }
  })

  describe('followed by an exchange', () => {
    const assume = (door: Door, token: string, request: JsonObject = {}) =>
      door.call(exchange, request, token)
    const listed = async (door: Door, token: unknown) => {
      const { body } = await door.call(listGroups, {}, String(token))
      return (body?.groups as { uid: string }[]).map(({ uid }) => uid)
    }

    test('of the provider’s token yields a token of the person', async () => {
      for (const door of doors) {
        const sub = `exchanger-${door.name}`
        const uid = userUid(issuer.issuer, sub)
        const token = await issuer.sign({ sub, aud: 'stemma-at-acme' })
        assert.equal((await assume(door, token)).error?.code, 7, 'the person is not registered yet')
        await door.call(register, { code: await invite() }, token)
        for (const request of [{}, { identity: uid }, { identityProvider: provider }]) {
          const { body, error } = await assume(door, token, request)
          assert.ok(body, error?.message)
          const { sub: subject, act, sign_in } = decodeJwt(String(body.token))
          assert.equal(subject, uid)
          assert.deepEqual(act, { iss: issuer.issuer, sub, aud: 'stemma-at-acme' })
          assert.equal((sign_in as { sub: string }).sub, uid)
          assert.deepEqual(await listed(door, body.token), [acme.organization])
          assert.equal((await door.call(Auth.method.validate, {}, String(body.token))).body?.subject, uid)
        }
      }
    })

    test('yields an unlimited token only if the address is verified and in the domain of the provider’s organization', async () => {
      const [door] = doors as [Door]
      const scopesOf = async (claims: JsonObject) => {
        const token = await issuer.sign({ ...claims, aud: 'stemma-at-acme' })
        await door.call(register, {}, token)
        const { body, error } = await assume(door, token)
        assert.ok(body, error?.message)
        return decodeJwt(String(body.token)).scopes
      }
      const verified = { email: 'eve@acme.example', email_verified: true }
      assert.equal(await scopesOf({ sub: 'eve', ...verified }), undefined)
      const limited = [acme.organization]
      assert.deepEqual(await scopesOf({ sub: 'fay' }), limited)
      assert.deepEqual(await scopesOf({ sub: 'gil', ...verified, email_verified: false }), limited)
      assert.deepEqual(await scopesOf({ sub: 'hal', ...verified, email: 'hal@evil.example' }), limited)
    })

    test('finds a person whom the provider identifies by another claim', async () => {
      const [door] = doors as [Door]
      await asOwner(createIdentityProvider, {
        identityProvider: {
          name: 'by oid',
          defaultRole: builtInRole('viewer').uid,
          oidc: {
            ...{ issuer: issuer.issuer, clientId: 'stemma-by-oid', pkceEnabled: true },
            correlationRule: 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID',
          },
        },
      })
      const token = await issuer.sign({ sub: 'pairwise', oid: 'object-1', aud: 'stemma-by-oid' })
      const uid = userUid(issuer.issuer, 'oid:object-1')
      assert.equal((await door.call(register, {}, token)).body?.identity, uid)
      const { body, error } = await assume(door, token)
      assert.ok(body, error?.message)
      assert.equal(decodeJwt(String(body.token)).sub, uid)
      const withoutOid = await issuer.sign({ sub: 'pairwise', aud: 'stemma-by-oid' })
      assert.equal((await assume(door, withoutOid)).error?.code, 7)
    })

    test('needs a SCIM user if the provider provisions people; deactivating the user ends their access token', async () => {
      const made = await asOwner(createIdentityProvider, {
        identityProvider: {
          name: 'by scim',
          defaultRole: builtInRole('viewer').uid,
          oidc: { issuer: issuer.issuer, clientId: 'stemma-by-scim', pkceEnabled: true },
        },
      })
      const scim = await enableScim(platform, acme, String(made.uid))
      for (const door of doors) {
        const sub = `provisioned-${door.name}`
        const token = await issuer.sign({ sub, aud: 'stemma-by-scim' })
        const refused = await door.call(register, {}, token)
        assert.match(refused.error?.message ?? '', /not given this account access/)
        const { id } = await scim.expect(201, 'POST', '/Users', {
          schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
          ...{ userName: sub, externalId: sub, active: true },
        })
        assert.equal((await door.call(register, {}, token)).error, undefined)
        const access = String((await assume(door, token)).body?.token)
        assert.equal((await door.call(listGroups, {}, access)).error, undefined)
        await scim.expect(200, 'PATCH', `/Users/${id}`, {
          schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
          Operations: [{ op: 'replace', path: 'active', value: false }],
        })
        assert.equal((await door.call(listGroups, {}, access)).error?.code, 16)
        for (const method of [exchange, register]) {
          const { error } = await door.call(method, {}, token)
          assert.match(error?.message ?? '', /deactivated this account/)
        }
      }
    })

    test('is refused for another audience, person, provider or workload, and for a disabled person', async () => {
      const workload = await platform.addIdentity(acme.organization, 'owner')
      for (const door of doors) {
        const sub = `refused-${door.name}`
        const token = await issuer.sign({ sub, aud: 'stemma-at-acme' })
        const { body } = await door.call(register, {}, token)
        assert.equal((await assume(door, token)).error, undefined)
        const elsewhere = await issuer.sign({ sub, aud: 'another' })
        assert.equal((await assume(door, elsewhere)).error?.code, 7)
        for (const request of [
          { identity: userUid(issuer.issuer, 'person-REST') },
          { identity: workload.identity },
          { identityProvider: `${acme.organization}/${'0'.repeat(16)}` },
        ])
          assert.equal((await assume(door, token, request)).error?.code, 7, JSON.stringify(request))
        const forger = await startIssuer('ES256')
        const forged = await forger.sign({ iss: issuer.issuer, sub, aud: 'stemma-at-acme' })
        assert.equal((await assume(door, forged)).error?.code, 16)
        await forger.close()
        await platform.store.write(() => disablePerson(String(body?.identity), Date.now()))
        assert.match((await assume(door, token)).error?.message ?? '', /account is disabled/)
      }
    })
  })

  test('fetches nothing from an issuer that no organization uses', async () => {
    const unknownIssuer = await startIssuer('ES256')
    for (const door of doors) {
      const { error } = await door.call(register, {}, await unknownIssuer.sign())
      assert.equal(error?.code, 7)
      assert.match(error?.message ?? '', /nobody can be registered with this token/)
    }
    assert.equal(unknownIssuer.requestCounts.get(discoveryPath), undefined)
    await unknownIssuer.close()
  })

  test('changes nothing if the invite is invalid or identityId names another person', async () => {
    for (const door of doors) {
      const token = await issuer.sign({ sub: `nobody-${door.name}` })
      const uid = userUid(issuer.issuer, `nobody-${door.name}`)
      const wrong = await door.call(register, { code: 'no such code' }, token)
      assert.equal(wrong.error?.code, 3)
      const other = await door.call(register, { identityId: '0'.repeat(40) }, token)
      assert.equal(other.error?.code, 3)
      assert.equal(await exists(uid), false)
    }
  })

  test('trusts an e-mail address only if it is verified and in the organization’s domain', async () => {
    const [door] = doors as [Door]
    const code = await invite({ email: 'ada@acme.example' })
    const sign = (email: string, claims: JsonObject = {}) =>
      issuer.sign({ sub: email, email, email_verified: true, ...claims })
    for (const token of [
      await sign('ada@acme.example', { email_verified: false }),
      await sign('ada@evil.example'),
    ])
      assert.equal((await door.call(register, { code }, token)).error?.code, 3)
    const { body } = await door.call(register, { code }, await sign('ada@acme.example'))
    assert.equal(body?.group, acme.organization)
  })

  test('refuses forged, expired and malformed tokens', async () => {
    const forger = await startIssuer('ES256')
    const past = Math.floor(Date.now() / 1000) - 4000
    for (const door of doors) {
      for (const token of [
        'nonsense',
        await forger.sign({ iss: issuer.issuer }),
        await issuer.sign({ iat: past, exp: past + 60 }),
        await issuer.sign({}, { kid: 'unknown' }),
      ]) {
        assert.equal((await door.call(register, {}, token)).error?.code, 16)
      }
      assert.equal((await door.call(register, {})).error?.code, 16)
    }
    await forger.close()
  })

  test('accepts an invite for an existing person who sends an unlimited token of this server', async () => {
    const ada = await platform.addUser('ada@example.com')
    for (const door of doors) {
      const { body } = await door.call(register, { code: await invite() }, ada.token)
      assert.deepEqual(body, { identity: ada.identity, group: acme.organization })
      const workload = await door.call(register, { code: await invite() }, acme.token)
      assert.equal(workload.error?.code, 7)
    }
    const limited = await fetch(`${platform.url}/sts/exchange?scopes=${acme.organization}`, {
      headers: { authorization: `Bearer ${ada.token}` },
    })
    const { token } = (await limited.json()) as { token: string }
    const [door] = doors as [Door]
    assert.equal((await door.call(register, { code: await invite() }, token)).error?.code, 7)
  })
})
