// Registration with a token of an organization's provider or of this server, with or without an invite.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { userUid } from '@stemma/server/aip/uid.ts'
import { verifyOrganization } from '@stemma/server/commands/verify.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import { sql } from '@stemma/server/store/sql.ts'
import type { Door } from '@stemma/server/testing/doors.ts'
import { grpcDoor, restDoor } from '@stemma/server/testing/doors.ts'
import type { TestIdentity } from '@stemma/server/testing/identities.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { startPlatform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import type { ForeignIssuer } from './foreign-issuer.ts'
import { discoveryPath, startIssuer } from './foreign-issuer.ts'

const { register } = Auth.method
const { createGroupInvite } = GroupInvitesService.method
const { createIdentityProvider } = IdentityProvidersService.method

onEachStore('registration', (engine) => {
  let issuer: ForeignIssuer
  let platform: Platform
  let doors: Door[]
  let acme: TestIdentity
  before(async () => {
    issuer = await startIssuer()
    platform = await startPlatform(engine, ['--trusted-issuers', issuer.issuer])
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    acme = await platform.addOrganization('acme.example')
    await verifyOrganization(platform.store, acme.organization, { isVerified: true, now: Date.now() })
    await asOwner(createIdentityProvider, {
      identityProvider: {
        name: 'acme',
        defaultRole: builtInRole('viewer').uid,
        oidc: { issuer: issuer.issuer, clientId: 'stemma-at-acme', pkceEnabled: true },
      },
    })
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

  test('fetches nothing from an issuer that no organization uses', async () => {
    const unknownIssuer = await startIssuer()
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
    const forger = await startIssuer()
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
