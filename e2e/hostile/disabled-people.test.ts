// When the operator disables a person, all tokens of the person stop working with the next call, on every copy of the
// server. The person cannot sign in until the operator enables them.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
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
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { runStemmadInline } from '../server/stemmad.ts'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { startIssuer } from '../sign-in/foreign-issuer.ts'
import type { OrganizationProvider } from '../sign-in/organization-provider.ts'
import { startProvider } from '../sign-in/organization-provider.ts'
import { addIdentityProvider, addVerifiedOrganization } from '../sign-in/organizations.ts'
import { addAccount, begin, password, relyingParty, signIn, startSignInPlatform } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'

const { exchange, exchangeRefreshToken } = SecurityTokenService.method
const disabledMessage = /[Tt]his account is disabled; ask the operator of this server/

onEachStore('a disabled person', (engine) => {
  let platform: Platform
  let copy: App
  let doors: Door[]
  let acme: OrganizationProvider
  let issuer: ForeignIssuer
  let party: oidc.Configuration
  before(async () => {
    issuer = await startIssuer('ES256')
    platform = await startSignInPlatform(engine, ['--trusted-issuers', issuer.issuer])
    copy = await startApp({ ...platform.config, port: await freePort() }, openLog('silent'))
    // One door of each copy is enough, because both doors of a copy authenticate callers with the same code.
    doors = [restDoor(platform.url), grpcDoor(`http://127.0.0.1:${copy.port}`)]
    party = await relyingParty(platform.url)
    acme = await startProvider(`${platform.url}/oauth/callback`, { 'cyd-at-acme': { name: 'Cyd' } })
  })
  after(async () => {
    for (const door of doors) door.close()
    await copy.stop(true)
    await platform.stop()
    await acme.close()
    await issuer.close()
  })

  const firstDoor = () => doors[0] as Door

  function operate(...args: string[]) {
    const { dataDir, baseUrl, databaseUrl, secretKey } = platform.config
    const storeFlags = databaseUrl ? ['--database-url', databaseUrl, '--secret-key', secretKey ?? ''] : []
    return runStemmadInline([...args, '--data-dir', dataDir, '--base-url', baseUrl, ...storeFlags])
  }

  async function change(action: 'disable' | 'enable', person: string): Promise<void> {
    const { code, stdout, stderr } = await operate('users', action, person)
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^\S+ is [0-9a-f]{40}\n$/)
  }

  /** The distinct codes of a read, a write and an exchange with the token, through both copies. */
  async function codesOf(token: string): Promise<number[]> {
    const uid = platform.owner.organization
    const calls = doors.flatMap((door) => [
      door.call(GroupsService.method.getGroup, { uid }, token),
      door.call(GroupsService.method.createGroup, { parent: uid, group: { name: 'made' } }, token),
      door.call(exchange, { identity: '' }, token),
    ])
    return [...new Set((await Promise.all(calls)).map(({ error }) => error?.code ?? 0))]
  }

  const addPerson = async (email: string) => {
    const identity = await addAccount(platform, email)
    await platform.bind(identity, 'owner', platform.owner.organization)
    return identity
  }

  async function signInWithPublishedClient(email: string) {
    const visitor = new Visitor(platform.url)
    const redirect = 'http://localhost:8085/callback'
    const query = new URLSearchParams({ exit: 'redirect', redirect, create_refresh_token: 'true' })
    const end = await visitor.submit(await visitor.open(`/oauth?${query}`), { email, password })
    const { token = '', refresh_token: refreshToken = '' } = Object.fromEntries(new URL(end.url).searchParams)
    return { token, refreshToken }
  }

  /** Creates an identity that every signed-in person can assume, and exchanges the token for one of this identity. */
  async function assumedBy(token: string): Promise<string> {
    const { organization, token: ownerToken } = platform.owner
    const claimMatch = { issuer: platform.config.authUrl, subjectPattern: '[0-9a-f]{40}' }
    const request = { parent: organization, identity: { name: 'everybody', claimMatch } }
    const made = await firstDoor().call(IdentitiesService.method.createIdentity, request, ownerToken)
    await platform.bind(String(made.body?.uid), 'owner', organization)
    const { body, error } = await firstDoor().call(exchange, { identity: String(made.body?.uid) }, token)
    assert.ok(body, error?.message)
    return String(body.token)
  }

  test('loses all access at once on every copy, until enabled and signed in again', async () => {
    const identity = await addPerson('ada@example.com')
    const { tokens, visitor } = await signIn(platform, 'ada@example.com')
    const published = await signInWithPublishedClient('ada@example.com')
    const minted = await platform.tokenOf(identity)
    const assumed = await assumedBy(tokens.access_token)
    const issued = [tokens.access_token, published.token, minted, assumed]
    for (const token of issued) assert.deepEqual(await codesOf(token), [0])
    const bystander = await addPerson('bob@example.com')

    await change('disable', 'ada@example.com')
    await change('disable', identity)
    for (const token of issued) assert.deepEqual(await codesOf(token), [Code.UNAUTHENTICATED])
    await assert.rejects(oidc.refreshTokenGrant(party, tokens.refresh_token ?? ''))
    const { error } = await firstDoor().call(exchangeRefreshToken, {}, published.refreshToken)
    assert.equal(error?.code, Code.UNAUTHENTICATED)
    assert.equal((await visitor.open((await begin(party)).url)).title, 'Sign in', 'the session has ended')
    const { code, stderr } = await operate('token', identity)
    assert.deepEqual([code, disabledMessage.test(stderr)], [2, true])
    assert.deepEqual(await codesOf(await platform.tokenOf(bystander)), [0])

    await change('enable', identity)
    for (const token of issued) assert.deepEqual(await codesOf(token), [Code.UNAUTHENTICATED])
    const again = await signIn(platform, 'ada@example.com')
    assert.deepEqual(await codesOf(again.tokens.access_token), [0])
    await change('enable', identity)
    assert.deepEqual(await codesOf(again.tokens.access_token), [0], 'enabling twice changes nothing')
  })

  test('cannot sign in with a password: in a browser, for a device, or after a reset', async () => {
    const identity = await addPerson('dan@example.com')
    const visitor = new Visitor(platform.url)
    const page = await visitor.open((await begin(party)).url)
    await change('disable', identity)
    const refused = await visitor.submit(page, { email: 'dan@example.com', password })
    assert.equal(refused.status, 403)
    assert.match(refused.alert ?? '', disabledMessage)
    const wrong = await visitor.submit(page, { email: 'dan@example.com', password: 'not the password' })
    assert.match(wrong.alert ?? '', /The e-mail address or the password is wrong/)

    const device = await oidc.initiateDeviceAuthorization(party, { scope: 'openid' })
    const form = await visitor.open(device.verification_uri)
    const confirm = await visitor.submit(form, { user_code: device.user_code })
    const login = await visitor.submit(confirm, { confirm: 'yes' })
    assert.match(
      (await visitor.submit(login, { email: 'dan@example.com', password })).alert ?? '',
      disabledMessage,
    )

    const { stdout } = await operate('users', 'reset', 'dan@example.com')
    const [link = ''] = /http\S+code=\S+/.exec(stdout) ?? []
    const chosen = 'another horse battery staple'
    assert.equal((await visitor.submit(await visitor.open(link), { password: chosen })).status, 200)
    const newPage = await visitor.open((await begin(party)).url)
    const refusedAgain = await visitor.submit(newPage, { email: 'dan@example.com', password: chosen })
    assert.match(refusedAgain.alert ?? '', disabledMessage)
  })

  test('cannot sign in through a provider', async () => {
    const owner = await addVerifiedOrganization(platform, 'acme.example')
    const provider = await addIdentityProvider(platform, owner, { issuer: acme.issuer })
    const signInWithProvider = async () => {
      const visitor = new Visitor(platform.url, acme.issuer)
      const page = await visitor.open((await begin(party, { idp_id: provider })).url)
      return acme.signIn(visitor, page, 'cyd-at-acme')
    }
    assert.match((await signInWithProvider()).url, /[?&]code=/)
    const identity = userUid(acme.issuer, 'cyd-at-acme')
    await change('disable', identity)
    assert.match((await signInWithProvider()).alert ?? '', disabledMessage)
    await change('enable', identity)
    assert.match((await signInWithProvider()).url, /[?&]code=/)
  })

  test('cannot register or get a token with the token of another issuer', async () => {
    const owner = await addVerifiedOrganization(platform, 'other.example')
    await addIdentityProvider(platform, owner, { issuer: issuer.issuer })
    const token = await issuer.sign({ sub: 'eve', aud: platform.config.authUrl })
    const identity = userUid(issuer.issuer, 'eve')
    const attempts = () =>
      Promise.all(
        doors.flatMap((door) => [
          door.call(Auth.method.register, {}, token),
          door.call(exchange, { identity: '' }, token),
          door.call(exchange, { identity }, token),
        ]),
      )
    assert.ok((await firstDoor().call(Auth.method.register, {}, token)).body)
    assert.ok((await attempts()).every(({ error }) => error === undefined))
    await change('disable', identity)
    for (const { error } of await attempts()) {
      assert.equal(error?.code, Code.PERMISSION_DENIED)
      assert.match(error?.message ?? '', disabledMessage)
    }
    await change('enable', identity)
    assert.ok((await attempts()).every(({ error }) => error === undefined))
  })

  test('is listed for the operator', async () => {
    const identity = await addPerson('fay@example.com')
    const listed = async () => (await operate('users', 'disabled')).stdout
    assert.ok(!(await listed()).includes(identity))
    await change('disable', identity)
    assert.match(await listed(), new RegExp(`^${identity}  fay@example\\.com  disabled since \\S+Z$`, 'm'))
    await change('enable', identity)
    assert.ok(!(await listed()).includes(identity))
    for (const person of ['nobody@example.com', '0'.repeat(40), 'nonsense', platform.owner.organization])
      assert.equal((await operate('users', 'disable', person)).code, 2)
  })
})
