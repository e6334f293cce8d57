// Somebody has stolen a token of another issuer, and uses it after the person was signed out.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { Code } from '../../server/aip/code.ts'
import { userUid } from '../../server/aip/uid.ts'
import { signOutEverywhere } from '../../server/auth/sign-outs.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ScimProvider } from '../scim/scim-platform.ts'
import { addScimProvider } from '../scim/scim-platform.ts'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { startIssuer } from '../sign-in/foreign-issuer.ts'

const { exchange } = SecurityTokenService.method
const { register } = Auth.method
const seconds = (time: number) => Math.floor(time / 1000)

onEachStore('a token of another issuer', (engine) => {
  let issuer: ForeignIssuer
  let platform: Platform
  let doors: Door[]
  let acme: ScimProvider
  let other: ScimProvider
  before(async () => {
    issuer = await startIssuer('ES256')
    platform = await startPlatform(engine, ['--trusted-issuers', issuer.issuer])
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    const addProvider = async (name: string) =>
      addScimProvider(platform, await platform.addOrganization(name), {
        ...{ issuer: issuer.issuer, clientId: `client-of-${name}` },
      })
    acme = await addProvider('acme')
    other = await addProvider('other')
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
    await issuer.close()
  })

  const addUser = ({ expect }: ScimProvider, externalId: string): Promise<JsonObject> =>
    expect(201, 'POST', '/Users', { userName: externalId, externalId })

  const setActive = ({ expect }: ScimProvider, { id }: JsonObject, value: boolean) =>
    expect(200, 'PATCH', `/Users/${id}`, {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations: [{ op: 'replace', path: 'active', value }],
    })

  /** The distinct codes of Exchange and Register, through both doors. */
  async function codesOf(token: string): Promise<number[]> {
    const calls = doors.flatMap((door) => [door.call(exchange, {}, token), door.call(register, {}, token)])
    const errors = (await Promise.all(calls)).map(({ error }) => error)
    for (const error of errors)
      if (error?.code === Code.UNAUTHENTICATED)
        assert.match(error.message, /issued before this person was last signed out; get a new token/)
    return [...new Set(errors.map((error) => error?.code ?? 0))]
  }

  /** The client id of the provider, and the base URL of the server. */
  const audiences = ['client-of-acme', 'http://stemma.test']
  for (const audience of audiences)
    test(`for ${audience} cannot be used after the person was signed out everywhere`, async () => {
      const sub = `ada of ${audience}`
      await addUser(acme, sub)
      const signedOutAt = seconds(Date.now())
      const tokenFrom = (iat: number) => issuer.sign({ sub, aud: audience, iat })
      const stolen = await tokenFrom(signedOutAt - 100)
      await (doors[0] as Door).call(register, {}, stolen)
      assert.deepEqual(await codesOf(stolen), [0])
      const identity = userUid(issuer.issuer, sub)
      await platform.store.write(() => signOutEverywhere(identity, signedOutAt * 1000))
      assert.deepEqual(await codesOf(stolen), [Code.UNAUTHENTICATED])
      assert.deepEqual(await codesOf(await tokenFrom(signedOutAt - 5)), [Code.UNAUTHENTICATED])
      // The clock of the issuer may be a few seconds behind.
      assert.deepEqual(await codesOf(await tokenFrom(signedOutAt - 4)), [0])
      assert.deepEqual(await codesOf(await tokenFrom(signedOutAt)), [0])
    })

  test('cannot be used after its provider has deactivated and reactivated the person', async () => {
    const [atAcme, atOther] = [await addUser(acme, 'bob'), await addUser(other, 'bob')]
    const iat = seconds(Date.now()) - 100
    const [stolen, unaffected] = await Promise.all(
      ['client-of-acme', 'client-of-other'].map((aud) => issuer.sign({ sub: 'bob', aud, iat })),
    )
    await (doors[0] as Door).call(register, {}, stolen ?? '')
    assert.deepEqual(await codesOf(stolen ?? ''), [0])
    await setActive(acme, atAcme, false)
    assert.deepEqual(await codesOf(stolen ?? ''), [Code.PERMISSION_DENIED])
    await setActive(acme, atAcme, true)
    assert.deepEqual(await codesOf(stolen ?? ''), [Code.UNAUTHENTICATED])
    assert.deepEqual(await codesOf(unaffected ?? ''), [0], 'the other provider has not signed them out')
    assert.deepEqual(await codesOf(await issuer.sign({ sub: 'bob', aud: 'client-of-acme' })), [0])
    for (const [provider, { id }] of [
      [acme, atAcme],
      [other, atOther],
    ] as const)
      await provider.expect(204, 'DELETE', `/Users/${id}`)
  })
})
