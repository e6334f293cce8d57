// The SCIM token of an identity provider: created once, shown once, replaced with an overlap, revoked at once.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { IdentityProviders } from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { Code } from '../../server/aip/code.ts'
import { blockAtProvider } from '../../server/auth/provider-sign-outs.ts'
import { sql } from '../../server/store/sql.ts'
import type { CallResult, Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { detail } from '../contract/examples.ts'
import { addSecondOwner, senderTo } from '../scim/scim-platform.ts'
import { addIdentityProvider } from '../sign-in/organizations.ts'

const v2 = IdentityProvidersService.method
const v1 = IdentityProviders.method
const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs

onEachStore('the SCIM token of an identity provider', (engine) => {
  let platform: Platform
  let doors: Door[]
  let owner: TestIdentity
  let passedMs = 0
  const now = () => Date.now() + passedMs
  const oidc = { issuer: 'https://login.acme.example' }
  before(async () => {
    platform = await startPlatform(engine, [], { now })
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    owner = platform.owner
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  const addProvider = async () => {
    const token = await platform.tokenOf(owner.identity, now())
    return addIdentityProvider(platform, { ...owner, token }, oidc)
  }

  /** Calls go through the two doors in turn. */
  let calls = 0
  async function call(method: DescMethod, request: JsonObject): Promise<CallResult> {
    const door = doors[calls++ % doors.length] as Door
    return door.call(method, request, await platform.tokenOf(owner.identity, now()))
  }
  async function succeed(method: DescMethod, request: JsonObject): Promise<Record<string, string>> {
    const { body, error } = await call(method, request)
    assert.ok(body, error?.message)
    return body as Record<string, string>
  }
  const codeOf = async (method: DescMethod, request: JsonObject) =>
    (await call(method, request)).error?.code ?? 0

  const stateOf = async (uid: string) =>
    ((await succeed(v2.getIdentityProvider, { uid })).scim ?? {}) as unknown as Record<string, string>

  /** The status of a SCIM request with a token. */
  const statusWith = async (uid: string, token: string) =>
    (await senderTo(`${platform.url}/scim/v2/${uid}`, token)('GET', '/ServiceProviderConfig')).status

  async function enable(uid: string): Promise<void> {
    const { etag = '' } = await stateOf(uid)
    await succeed(v2.setScimEnabled, { identityProviderUid: uid, enabled: true, etag })
  }

  test('provisioning can be turned on only if the organization has two direct owners', async () => {
    const uid = await addProvider()
    const { etag = '' } = await stateOf(uid)
    const request = { identityProviderUid: uid, enabled: true, etag }
    const { error } = await call(v2.setScimEnabled, request)
    assert.equal(error?.code, Code.FAILED_PRECONDITION)
    assert.match(error?.message ?? '', /at least two identities with the role owner/)
    assert.equal(await codeOf(v1.setScimEnabled, { identityProviderId: uid, enabled: true, etag }), 9)
    const off = await succeed(v2.setScimEnabled, { ...request, enabled: false })
    assert.deepEqual(
      [off.enabled, off.etag],
      [false, etag],
      'turning it off needs no owners and changes nothing',
    )
    const { identity: suspended } = await platform.addIdentity(owner.organization, 'owner')
    const other = await addProvider()
    await platform.store.write(() => blockAtProvider(other, suspended, now()))
    assert.equal(await codeOf(v2.setScimEnabled, request), 9, 'the other owner is suspended')
    await addSecondOwner(platform, owner)
    const on = await succeed(v2.setScimEnabled, request)
    assert.equal(on.enabled, true)
    assert.notEqual(on.etag, etag)
    assert.equal(await codeOf(v2.setScimEnabled, request), Code.ABORTED, 'the etag has changed')
  })

  test('is returned once, is stored as a digest, and is valid for a year', async () => {
    const uid = await addProvider()
    const made = await succeed(v2.generateScimToken, { identityProviderUid: uid })
    const { token = '', endpointUrl, expireTime = '', etag } = made
    assert.match(token, /^cgscim_[0-9a-f]{64}$/)
    assert.equal(endpointUrl, `${platform.config.baseUrl}/scim/v2/${uid}`)
    assert.ok(Math.abs(Date.parse(expireTime) - now() - 365 * dayMs) < hourMs)
    assert.equal(made.identityProviderUid, uid)
    assert.deepEqual(await stateOf(uid), {
      ...{ enabled: false, endpointUrl, etag, tokenExpireTime: expireTime },
      credentialState: 'CREDENTIAL_STATE_LIVE',
    })
    const [row] = await platform.store.query(
      sql`select token_digest from scim_settings where provider = ${uid}`,
    )
    assert.match(String(row?.[0]), /^[\w-]{43}$/)
    assert.equal(await codeOf(v2.generateScimToken, { identityProviderUid: uid }), Code.FAILED_PRECONDITION)
    const { error } = await call(v1.generateScimToken, { identityProviderId: uid })
    assert.equal(error?.code, Code.FAILED_PRECONDITION)
    assert.deepEqual(error && detail(error, 'PreconditionFailure'), undefined)
    assert.equal(await statusWith(uid, token), 403, 'provisioning is off')
    await enable(uid)
    assert.equal(await statusWith(uid, token), 200)
  })

  test('is the only way in: neither roles nor the token of another provider give access', async () => {
    const [uid, other] = [await addProvider(), await addProvider()]
    const { token = '' } = await succeed(v2.generateScimToken, { identityProviderUid: uid })
    await addSecondOwner(platform, owner)
    await enable(uid)
    assert.deepEqual(
      [await statusWith(uid, token), await statusWith(other, token), await statusWith(uid, owner.token)],
      [200, 401, 401],
    )
  })

  test('works until it expires, at most for two years, or for ever', async () => {
    const uid = await addProvider()
    const generate = (request: JsonObject) =>
      codeOf(v2.generateScimToken, { identityProviderUid: uid, ...request })
    const at = (ms: number) => new Date(now() + ms).toISOString()
    for (const request of [
      { expireTime: at(-1000) },
      { expireTime: at(732 * dayMs) },
      { expireTime: at(dayMs), neverExpires: true },
    ])
      assert.equal(await generate(request), Code.INVALID_ARGUMENT)
    const { token = '' } = await succeed(v2.generateScimToken, {
      ...{ identityProviderUid: uid, expireTime: at(30 * dayMs) },
    })
    await enable(uid)
    passedMs += 31 * dayMs
    assert.equal(await statusWith(uid, token), 401)
    assert.equal((await stateOf(uid)).credentialState, 'CREDENTIAL_STATE_EXPIRED')
    const { etag = '' } = await stateOf(uid)
    const eternal = await succeed(v2.regenerateScimToken, {
      identityProviderUid: uid,
      etag,
      neverExpires: true,
    })
    assert.equal(eternal.expireTime, undefined)
    assert.equal(eternal.previousTokenExpireTime, undefined, 'the previous token had expired')
    passedMs += 3000 * dayMs
    assert.equal(await statusWith(uid, eternal.token ?? ''), 200)
    assert.equal((await stateOf(uid)).tokenExpireTime, undefined)
  })

  test('is replaced while the previous one works for an hour, or as long as requested', async () => {
    const uid = await addProvider()
    const first = await succeed(v2.generateScimToken, { identityProviderUid: uid })
    await enable(uid)
    const { etag = '' } = await stateOf(uid)
    const wrong = { identityProviderUid: uid, etag: '12345' }
    assert.equal(await codeOf(v2.regenerateScimToken, wrong), Code.ABORTED)
    assert.equal(await codeOf(v2.regenerateScimToken, { identityProviderUid: uid }), Code.INVALID_ARGUMENT)
    assert.equal(
      await codeOf(v2.regenerateScimToken, { ...wrong, etag, overlap: '-1s' }),
      Code.INVALID_ARGUMENT,
    )
    const second = await succeed(v2.regenerateScimToken, { identityProviderUid: uid, etag })
    assert.equal(second.requestedOverlap, '3600s')
    assert.equal((await stateOf(uid)).credentialState, 'CREDENTIAL_STATE_ROTATING')
    const statuses = async (...tokens: (string | undefined)[]) =>
      Promise.all(tokens.map((token) => statusWith(uid, token ?? '')))
    assert.deepEqual(await statuses(first.token, second.token), [200, 200])
    passedMs += hourMs + 1000
    assert.deepEqual(await statuses(first.token, second.token), [401, 200])
    assert.equal((await stateOf(uid)).credentialState, 'CREDENTIAL_STATE_LIVE')
    const third = await succeed(v1.regenerateScimToken, {
      ...{ identityProviderId: uid, etag: second.etag ?? '', overlap: '864000s' },
    })
    const end = Date.parse(third.previousTokenExpireTime ?? '')
    assert.ok(Math.abs(end - now() - dayMs) < hourMs, 'the overlap is at most a day')
    const fourth = await succeed(v2.regenerateScimToken, {
      ...{ identityProviderUid: uid, etag: third.etag ?? '', overlap: '0s' },
    })
    assert.deepEqual(await statuses(second.token, third.token, fourth.token), [401, 401, 200])
  })

  test('is revoked at once, together with the previous one, and provisioning stays on', async () => {
    const uid = await addProvider()
    assert.equal(await codeOf(v2.revokeScimToken, { identityProviderUid: uid }), Code.NOT_FOUND)
    assert.equal(
      await codeOf(v2.regenerateScimToken, { identityProviderUid: uid, etag: '0' }),
      Code.NOT_FOUND,
    )
    const first = await succeed(v1.generateScimToken, { identityProviderId: uid })
    assert.equal(first.identityProviderId, uid)
    await enable(uid)
    const { etag = '' } = await stateOf(uid)
    const second = await succeed(v2.regenerateScimToken, { identityProviderUid: uid, etag })
    const revoked = await succeed(v1.revokeScimToken, { identityProviderId: uid })
    assert.equal(revoked.enabled, true)
    for (const { token = '' } of [first, second]) assert.equal(await statusWith(uid, token), 401)
    const state = await stateOf(uid)
    assert.equal(state.credentialState, 'CREDENTIAL_STATE_REVOKED')
    assert.deepEqual([state.tokenExpireTime, state.etag], [revoked.revokeTime, revoked.etag])
    const again = await succeed(v2.revokeScimToken, { identityProviderUid: uid })
    assert.deepEqual([again.revokeTime, again.etag], [revoked.revokeTime, revoked.etag])
    const third = await succeed(v2.regenerateScimToken, { identityProviderUid: uid, etag: again.etag ?? '' })
    assert.equal(await statusWith(uid, third.token ?? ''), 200)
  })

  test('has a state that Get and a v1 list of one provider show, but no other response', async () => {
    const uid = await addProvider()
    const { etag } = await succeed(v2.generateScimToken, { identityProviderUid: uid })
    const listed = await succeed(v2.listIdentityProviders, { uidp: { ids: [uid] } })
    const [provider] = listed.identityProviders as unknown as JsonObject[]
    assert.equal(provider?.scim, undefined)
    const items = async (request: JsonObject) =>
      (await succeed(v1.list, request)).items as unknown as { id: string; scim?: JsonObject }[]
    assert.equal((await items({ id: uid }))[0]?.scim?.etag, etag)
    assert.ok((await items({})).every(({ scim }) => scim === undefined))
    const echoed = { uid, description: 'changed', scim: { enabled: true, etag: 'x' } }
    const updated = await succeed(v2.updateIdentityProvider, { identityProvider: echoed })
    assert.equal(updated.description, 'changed')
    assert.equal(updated.scim, undefined)
    assert.equal((await stateOf(uid)).enabled, false, 'the field cannot be written')
  })
})
