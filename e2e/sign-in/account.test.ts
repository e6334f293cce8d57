// The account service: people can see and change their own account, and nobody else can.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AccountService } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import * as oidc from 'openid-client'
import { Code } from '../../server/aip/code.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sealedEvents } from '../../server/testing/sealed-events.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { addAccount, begin, password, relyingParty, signIn, startSignInPlatform } from './sign-in.ts'
import { Visitor } from './visitor.ts'

const { getAccount, renameAccount, listSessions, endSession, endSessions, changePassword } =
  AccountService.method
const newPassword = 'seven green bicycles in the rain'

type Session = {
  id: string
  browser?: boolean
  client?: string
  current?: boolean
  address?: string
  expireTime?: string
}

onEachStore('the account of a person', (engine) => {
  let platform: Platform
  let rest: Door
  let grpc: Door
  before(async () => {
    platform = await startSignInPlatform(engine)
    rest = restDoor(platform.url)
    grpc = grpcDoor(platform.url)
  })
  after(async () => {
    grpc.close()
    await platform.stop()
  })

  const codeOf = async (token: string) => (await rest.call(getAccount, {}, token)).error?.code ?? 0
  const sessionsOf = async (token: string) =>
    ((await rest.call(listSessions, {}, token)).body?.sessions ?? []) as Session[]

  test('is shown to the person, through both doors', async () => {
    const identity = await addAccount(platform, 'ada@example.com')
    const { tokens } = await signIn(platform, 'ada@example.com')
    for (const door of [rest, grpc]) {
      const { body } = await door.call(getAccount, {}, tokens.access_token)
      assert.equal(body?.uid, identity)
      assert.equal(body?.email, 'ada@example.com')
      assert.deepEqual([body?.emailVerified, body?.local], [true, true])
    }
  })

  test('is not open to workloads, limited tokens and tokens of assumed identities', async () => {
    await addAccount(platform, 'bea@example.com')
    const { tokens } = await signIn(platform, 'bea@example.com')
    const { exchange } = SecurityTokenService.method
    const limited = await rest.call(exchange, { cap: ['groups.list'] }, tokens.access_token)
    const { organization, token: ownerToken } = platform.owner
    const claimMatch = { issuer: platform.config.authUrl, subjectPattern: '[0-9a-f]{40}' }
    const made = await rest.call(
      IdentitiesService.method.createIdentity,
      { parent: organization, identity: { name: 'everybody', claimMatch } },
      ownerToken,
    )
    const assumed = await rest.call(exchange, { identity: String(made.body?.uid) }, tokens.access_token)
    for (const token of [ownerToken, limited.body?.token, assumed.body?.token]) {
      assert.ok(token)
      for (const method of [getAccount, listSessions, endSessions])
        assert.equal((await rest.call(method, {}, String(token))).error?.code, Code.PERMISSION_DENIED)
    }
  })

  test('has a name that the person can change', async () => {
    const identity = await addAccount(platform, 'cyd@example.com')
    const { tokens } = await signIn(platform, 'cyd@example.com')
    const { body } = await grpc.call(renameAccount, { name: 'On call' }, tokens.access_token)
    assert.equal(body?.name, 'On call')
    const got = await rest.call(IdentitiesService.method.getIdentity, { uid: identity }, tokens.access_token)
    assert.deepEqual([got.body?.name, got.body?.email], ['On call', 'cyd@example.com'])
    await signIn(platform, 'cyd@example.com')
    assert.equal((await rest.call(getAccount, {}, tokens.access_token)).body?.name, 'On call')
    const { error } = await rest.call(renameAccount, { name: '' }, tokens.access_token)
    assert.equal(error?.code, Code.INVALID_ARGUMENT)
  })

  test('shows where the person is signed in, and lets them end each session', async () => {
    await addAccount(platform, 'dan@example.com')
    const [own, other] = [
      await signIn(platform, 'dan@example.com'),
      await signIn(platform, 'dan@example.com'),
    ]
    const token = own.tokens.access_token
    const visitor = new Visitor(platform.url)
    const query = new URLSearchParams({
      ...{ exit: 'redirect', redirect: 'http://localhost:8085/callback', create_refresh_token: 'true' },
    })
    const email = 'dan@example.com'
    const end = await visitor.submit(await visitor.open(`/oauth?${query}`), { email, password })
    const answer = new URL(end.url).searchParams
    const published = answer.get('token') ?? ''
    const sessions = await sessionsOf(token)
    const names = sessions.map(({ browser, client }) => (browser ? 'browser' : client)).sort()
    const line = 'Stemma command line'
    assert.deepEqual(names, ['Client of this API', line, line, 'browser', 'browser', 'browser'])
    assert.ok(sessions.every(({ address }) => /127\.0\.0\.1|::1/.test(address ?? '')))
    assert.equal(sessions.filter(({ current }) => current).length, 1)
    const { exp } = JSON.parse(Buffer.from(answer.get('refresh_token') ?? '', 'base64').toString())
    const { expireTime = '' } = sessions.find(({ client }) => client === 'Client of this API') ?? {}
    assert.equal(Date.parse(expireTime), exp * 1000, 'the session expires with its refresh token')
    assert.doesNotMatch(JSON.stringify(sessions), new RegExp(own.tokens.refresh_token ?? 'none'))

    // Nobody else can end them, nor find out whether they exist.
    const strangerToken = await (async () => {
      await addAccount(platform, 'mal@example.com')
      return (await signIn(platform, 'mal@example.com')).tokens.access_token
    })()
    for (const { id } of sessions)
      assert.equal((await rest.call(endSession, { id }, strangerToken)).error?.code, Code.NOT_FOUND)
    const [mine] = sessions.filter(({ current }) => current)
    const [otherProgram] = (await sessionsOf(other.tokens.access_token)).filter(({ current }) => current)
    assert.notEqual(otherProgram?.id, mine?.id)
    assert.equal((await grpc.call(endSession, { id: otherProgram?.id ?? '' }, token)).error, undefined)
    assert.equal(await codeOf(other.tokens.access_token), Code.UNAUTHENTICATED)
    await assert.rejects(oidc.refreshTokenGrant(other.party, other.tokens.refresh_token ?? ''))
    assert.equal(await codeOf(published), 0)
    for (const { id, browser } of await sessionsOf(token))
      if (browser) await rest.call(endSession, { id }, token)
    const party = await relyingParty(platform.url)
    assert.equal((await own.visitor.open((await begin(party)).url)).title, 'Sign in')
    assert.deepEqual((await sessionsOf(token)).map(({ client }) => client).sort(), [
      'Client of this API',
      line,
    ])
    await oidc.refreshTokenGrant(own.party, own.tokens.refresh_token ?? '')

    assert.equal((await rest.call(endSessions, {}, token)).error, undefined)
    for (const ended of [token, published]) assert.equal(await codeOf(ended), Code.UNAUTHENTICATED)
    const { tokens } = await signIn(platform, 'dan@example.com')
    assert.equal((await sessionsOf(tokens.access_token)).length, 2)
  })

  test('changes its password only with the current one, and ends other sessions', async () => {
    const email = 'eve@example.com'
    const identity = await addAccount(platform, email)
    const [own, other] = [await signIn(platform, email), await signIn(platform, email)]
    const token = own.tokens.access_token
    const change = (currentPassword: string, wanted: string) =>
      rest.call(changePassword, { currentPassword, newPassword: wanted }, token)
    const wrong = await change('wrong horse battery staple', newPassword)
    assert.equal(wrong.error?.code, Code.INVALID_ARGUMENT)
    assert.match(wrong.error?.message ?? '', /current_?[pP]assword: is wrong/)
    assert.doesNotMatch(wrong.error?.message ?? '', /horse/)
    assert.match((await change(password, 'password1234')).error?.message ?? '', /must be harder to guess/)
    assert.match((await change(password, 'short')).error?.message ?? '', /at least 12 characters/)
    assert.equal(await codeOf(other.tokens.access_token), 0)
    assert.equal((await change(password, newPassword)).error, undefined)
    assert.equal(await codeOf(token), 0, 'the session that changed it continues')
    assert.equal(await codeOf(other.tokens.access_token), Code.UNAUTHENTICATED)
    await assert.rejects(oidc.refreshTokenGrant(other.party, other.tokens.refresh_token ?? ''))
    await oidc.refreshTokenGrant(own.party, own.tokens.refresh_token ?? '')
    const visitor = new Visitor(platform.url)
    const page = await visitor.open((await begin(own.party)).url)
    assert.equal((await visitor.submit(page, { email, password })).status, 401)
    const end = await visitor.submit(page, { email, password: newPassword })
    assert.ok(end.url.startsWith('http://127.0.0.1:45678/callback?'))
    const events = JSON.stringify(await sealedEvents(platform.store, identity))
    assert.match(events, /password-changed/)
    assert.doesNotMatch(events, /horse|bicycles/)
  })

  test('limits how often the password is changed', async () => {
    const email = 'gus@example.com'
    await addAccount(platform, email)
    const { tokens } = await signIn(platform, email)
    let current = password
    const change = (wanted: string) =>
      rest.call(changePassword, { currentPassword: current, newPassword: wanted }, tokens.access_token)
    for (let count = 0; count < 10; count++) {
      const wanted = `${newPassword} ${count}`
      assert.equal((await change(wanted)).error, undefined)
      current = wanted
    }
    assert.equal((await change(newPassword)).error?.code, Code.RESOURCE_EXHAUSTED)
  })

  test('throttles wrong current passwords like a sign-in', async () => {
    const email = 'fay@example.com'
    await addAccount(platform, email)
    const { tokens, party } = await signIn(platform, email)
    const change = (currentPassword: string) =>
      rest.call(changePassword, { currentPassword, newPassword }, tokens.access_token)
    for (let attempt = 0; attempt < 10; attempt++)
      assert.equal((await change('wrong horse battery staple')).error?.code, Code.INVALID_ARGUMENT)
    assert.equal((await change(password)).error?.code, Code.RESOURCE_EXHAUSTED)
    const visitor = new Visitor(platform.url)
    const page = await visitor.open((await begin(party)).url)
    assert.equal((await visitor.submit(page, { email, password })).status, 429)
  })
})
