// When a sign-in ends, its access tokens stop working with the next call, on every copy of the server, and so do the
// tokens that they were exchanged for.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import * as oidc from 'openid-client'
import { freePort } from '../../api/testing/free-port.ts'
import { Code } from '../../server/aip/code.ts'
import type { App } from '../../server/app.ts'
import { startApp } from '../../server/app.ts'
import { setPassword } from '../../server/auth/login/accounts.ts'
import { openPasswords } from '../../server/auth/login/passwords.ts'
import { openLog } from '../../server/log.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { passwordCost } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import {
  addAccount,
  begin,
  password,
  redeem,
  relyingParty,
  signIn,
  startSignInPlatform,
} from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'

const { exchange, exchangeRefreshToken } = SecurityTokenService.method

onEachStore('after a sign-in was ended', (engine) => {
  let platform: Platform
  let copy: App
  let doors: Door[]
  let assumable: string
  let clockOffset = 0
  before(async () => {
    const now = () => Date.now() + clockOffset
    platform = await startSignInPlatform(engine, [], { now })
    copy = await startApp({ ...platform.config, port: await freePort() }, openLog('silent'), { now })
    // One door of each copy is enough, because both doors of a copy authenticate callers with the same code.
    doors = [restDoor(platform.url), grpcDoor(`http://127.0.0.1:${copy.port}`)]
    assumable = await addAssumable()
  })
  after(async () => {
    for (const door of doors) door.close()
    await copy.stop(true)
    await platform.stop()
  })

  /** An identity that everybody who has signed in can assume. */
  async function addAssumable(): Promise<string> {
    const { organization, token } = platform.owner
    const claimMatch = { issuer: platform.config.authUrl, subjectPattern: '[0-9a-f]{40}(/[0-9a-f]{16})*' }
    const request = { parent: organization, identity: { name: 'everybody', claimMatch } }
    const { body, error } = await firstDoor().call(IdentitiesService.method.createIdentity, request, token)
    assert.ok(body, error?.message)
    await platform.bind(String(body.uid), 'owner', organization)
    return String(body.uid)
  }

  const firstDoor = () => doors[0] as Door

  /** Within a minute after its first use, a refresh token can be used again. */
  const afterGracePeriod = async <T>(action: () => Promise<T>): Promise<T> => {
    clockOffset = 61_000
    try {
      return await action()
    } finally {
      clockOffset = 0
    }
  }

  /** The distinct codes of lists with a token, one from each copy. */
  async function codesOfLists(token: string): Promise<number[]> {
    const lists = doors.map((door) => door.call(GroupsService.method.listGroups, { pageSize: 1 }, token))
    return [...new Set((await Promise.all(lists)).map(({ error }) => error?.code ?? 0))]
  }

  /**
   * The distinct codes of calls with a token to both copies. The calls read a row, a list and all grants, and create a
   * row. One call of v1 is made as well.
   */
  async function codesOf(token: string): Promise<number[]> {
    const uid = platform.owner.organization
    const calls = doors.flatMap((door) => [
      door.call(GroupsService.method.getGroup, { uid }, token),
      door.call(GroupsService.method.listGroups, { uidp: { childrenOf: uid }, pageSize: 1 }, token),
      door.call(GroupsService.method.createGroup, { parent: uid, group: { name: 'made' } }, token),
      door.call(Auth.method.validate, {}, token),
    ])
    const codes = (await Promise.all(calls)).map(({ error }) => error?.code ?? 0)
    const v1 = await fetch(`${platform.url}/iam/v1/groups`, { headers: { authorization: `Bearer ${token}` } })
    const v1Code = v1.ok ? 0 : ((await v1.json()) as { code: number }).code
    return [...new Set([...codes, v1Code])]
  }

  async function exchanged(token: string, identity: string): Promise<string> {
    const { body, error } = await firstDoor().call(exchange, { identity }, token)
    assert.ok(body, error?.message)
    return String(body.token)
  }

  /**
   * The token itself and tokens that it was exchanged for: one of the same identity, one of another
   * identity, and one that results from two exchanges.
   */
  async function withDescendants(token: string): Promise<string[]> {
    const other = await exchanged(token, assumable)
    return [token, await exchanged(token, ''), other, await exchanged(other, '')]
  }

  // All kinds of calls are made with the first token only, because they check all kinds of tokens in the same way.

  async function assertWorking(tokens: string[]): Promise<void> {
    assert.deepEqual(await codesOf(tokens[0] ?? ''), [0])
    for (const token of tokens) assert.deepEqual(await codesOfLists(token), [0])
  }

  async function assertEnded(tokens: string[]): Promise<void> {
    assert.deepEqual(await codesOf(tokens[0] ?? ''), [Code.UNAUTHENTICATED])
    for (const [at, token] of tokens.entries()) {
      assert.deepEqual(await codesOfLists(token), [Code.UNAUTHENTICATED], `token ${at}`)
      for (const door of doors) {
        const { error } = await door.call(exchange, { identity: assumable }, token)
        assert.equal(error?.code, Code.UNAUTHENTICATED)
        assert.equal((await door.call(Auth.method.register, {}, token)).error?.code, Code.UNAUTHENTICATED)
      }
    }
  }

  async function assertNotExchangeable(...idTokens: (string | undefined)[]): Promise<void> {
    for (const token of idTokens)
      for (const door of doors) {
        const { error } = await door.call(exchange, {}, token)
        assert.equal(error?.code, Code.UNAUTHENTICATED)
      }
  }

  const addPerson = async (email: string) => {
    const identity = await addAccount(platform, email)
    await platform.bind(identity, 'owner', platform.owner.organization)
    return identity
  }

  /** Sets the same password again, which ends all sign-ins of the person. */
  async function signOutEverywhere(identity: string): Promise<void> {
    const hash = await openPasswords(randomBytes, passwordCost).hash(password)
    await platform.store.write(() => setPassword(identity, hash, Date.now()))
  }

  /** The sign-in of a published client. */
  async function signInPublished(
    email: string,
    parameters: Record<string, string> = {},
    visitor = new Visitor(platform.url),
  ) {
    const redirect = 'http://localhost:8085/callback'
    const page = await visitor.open(
      `/oauth?${new URLSearchParams({ exit: 'redirect', redirect, ...parameters })}`,
    )
    const end = await visitor.submit(page, { email, password })
    const { token = '', refresh_token: refreshToken = '' } = Object.fromEntries(new URL(end.url).searchParams)
    return { token, refreshToken, visitor }
  }

  const refreshed = async (refreshToken: string) => {
    const { body, error } = await firstDoor().call(exchangeRefreshToken, {}, refreshToken)
    return error ?? (body as { token: { token: string }; refreshToken: { token: string } })
  }

  const revoke = (token: string) =>
    fetch(`${platform.url}/oauth/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ token, client_id: 'stemma' }),
    })

  describe('by signing the person out everywhere', () => {
    test('tokens of every kind of sign-in stop working, and those of a later sign-in work', async () => {
      const identity = await addPerson('ada@example.com')
      const { tokens, party } = await signIn(platform, 'ada@example.com')
      const renewed = await oidc.refreshTokenGrant(party, tokens.refresh_token ?? '')
      const published = await signInPublished('ada@example.com', { create_refresh_token: 'true' })
      const pair = await refreshed(published.refreshToken)
      assert.ok('token' in pair)
      const issued = [
        ...(await withDescendants(tokens.access_token)),
        ...(await withDescendants(renewed.access_token)),
        ...[published.token, pair.token.token, await platform.tokenOf(identity)],
      ]
      await assertWorking(issued)
      await signOutEverywhere(identity)
      await assertEnded(issued)
      const { tokens: later } = await signIn(platform, 'ada@example.com')
      await assertWorking([...(await withDescendants(later.access_token)), platform.owner.token])
    })

    test('a token of a device stops working', async () => {
      const identity = await addPerson('bob@example.com')
      const party = await relyingParty(platform.url)
      const device = await oidc.initiateDeviceAuthorization(party, { scope: 'openid' })
      const { visitor } = await signIn(platform, 'bob@example.com')
      const page = await visitor.open(device.verification_uri)
      const confirm = await visitor.submit(page, { user_code: device.user_code })
      await visitor.submitTo(await visitor.submit(confirm, { confirm: 'yes' }), '/continue')
      const tokens = await oidc.pollDeviceAuthorizationGrant(party, { ...device, interval: 0.1 })
      const idToken = tokens.id_token ?? ''
      const issued = [
        ...(await withDescendants(tokens.access_token)),
        ...[await exchanged(idToken, ''), await exchanged(idToken, assumable)],
      ]
      await assertWorking(issued)
      await signOutEverywhere(identity)
      await assertEnded(issued)
      await assertNotExchangeable(idToken)
    })
  })

  describe('by revoking or reusing its refresh token', () => {
    test('its access tokens stop working, and those of other sign-ins work', async () => {
      await addPerson('cyd@example.com')
      const [revoked, other] = [
        await signIn(platform, 'cyd@example.com'),
        await signIn(platform, 'cyd@example.com'),
      ]
      const renewed = await oidc.refreshTokenGrant(revoked.party, revoked.tokens.refresh_token ?? '')
      const issued = [...(await withDescendants(revoked.tokens.access_token)), renewed.access_token]
      await assertWorking(issued)
      await revoke(renewed.refresh_token ?? '')
      await assertEnded(issued)
      await assertNotExchangeable(revoked.tokens.id_token, renewed.id_token)
      await assertWorking([other.tokens.access_token])
      const next = await oidc.refreshTokenGrant(other.party, other.tokens.refresh_token ?? '')
      await afterGracePeriod(() =>
        assert.rejects(oidc.refreshTokenGrant(other.party, other.tokens.refresh_token ?? '')),
      )
      await assertEnded([other.tokens.access_token, next.access_token])
      await assertNotExchangeable(other.tokens.id_token, next.id_token)
    })

    test('access tokens of a published client stop working, and those of other sign-ins work', async () => {
      await addPerson('dan@example.com')
      const signInDan = () => signInPublished('dan@example.com', { create_refresh_token: 'true' })
      const [revoked, reused, other] = [await signInDan(), await signInDan(), await signInDan()]
      const issued = await withDescendants(revoked.token)
      await assertWorking(issued)
      await revoke(revoked.refreshToken)
      await assertEnded(issued)
      const pair = await refreshed(reused.refreshToken)
      assert.ok('token' in pair)
      await assertWorking([reused.token, pair.token.token])
      assert.ok('code' in (await afterGracePeriod(() => refreshed(reused.refreshToken))))
      await assertEnded([reused.token, pair.token.token])
      await assertWorking([other.token])
    })
  })

  describe('by revoking one of its access tokens', () => {
    const errorOf = async (answer: Response) => ((await answer.json()) as { error?: string }).error

    test('all of its tokens stop working, and those of other sign-ins work', async () => {
      await addPerson('hal@example.com')
      const [revoked, other] = [
        await signIn(platform, 'hal@example.com'),
        await signIn(platform, 'hal@example.com'),
      ]
      const issued = await withDescendants(revoked.tokens.access_token)
      await assertWorking(issued)
      assert.equal((await revoke(revoked.tokens.access_token)).status, 200)
      await assertEnded(issued)
      await assert.rejects(oidc.refreshTokenGrant(revoked.party, revoked.tokens.refresh_token ?? ''))
      await assertWorking([other.tokens.access_token])
      assert.ok((await oidc.refreshTokenGrant(other.party, other.tokens.refresh_token ?? '')).access_token)
      assert.equal(
        (await revoke(revoked.tokens.access_token)).status,
        200,
        'a revoked token can be revoked again',
      )
    })

    test('the refresh token of a published client stops working, also if the access token is for the registry', async () => {
      await addPerson('ida@example.com')
      const audience = new URL(platform.config.baseUrl).host
      for (const parameters of [{}, { audience }]) {
        const { token, refreshToken } = await signInPublished('ida@example.com', {
          create_refresh_token: 'true',
          ...parameters,
        })
        assert.equal((await revoke(token)).status, 200)
        assert.ok('code' in (await refreshed(refreshToken)))
      }
    })

    test('a limited token, a token of an assumed identity or a token without a sign-in cannot be revoked, and no sign-in ends', async () => {
      const identity = await addPerson('jan@example.com')
      const { tokens } = await signIn(platform, 'jan@example.com')
      const scopes = [platform.owner.organization]
      const limited = await firstDoor().call(exchange, { identity: '', scopes }, tokens.access_token)
      const others = [
        ...[String(limited.body?.token), await exchanged(tokens.access_token, assumable)],
        ...[await platform.tokenOf(assumable), await platform.tokenOf(identity)],
      ]
      for (const token of others) {
        const answer = await revoke(token)
        assert.equal(answer.status, 400)
        assert.equal(await errorOf(answer), 'unsupported_token_type')
      }
      await assertWorking([tokens.access_token, ...others])
    })

    test('revoking an invalid token succeeds, and no sign-in ends', async () => {
      await addPerson('kim@example.com')
      const { tokens } = await signIn(platform, 'kim@example.com')
      const [head, body = ''] = tokens.access_token.split('.')
      for (const forged of [`${head}.${body}.AAAA`, `${head}.${body}.`, `${head}.e30.AAAA`])
        assert.equal((await revoke(forged)).status, 200)
      await assertWorking([tokens.access_token])
    })
  })

  test('by redeeming its code twice, its access token stops working', async () => {
    await addPerson('eve@example.com')
    const party = await relyingParty(platform.url)
    const begun = await begin(party)
    const visitor = new Visitor(platform.url)
    const end = await visitor.submit(await visitor.open(begun.url), { email: 'eve@example.com', password })
    const tokens = await redeem(party, begun, end)
    await assertWorking([tokens.access_token])
    await assert.rejects(redeem(party, begun, end))
    await assertEnded([tokens.access_token])
  })

  test('by signing out in the browser, tokens that were not issued for offline use stop working', async () => {
    await addPerson('fay@example.com')
    const scope = { scope: 'openid' }
    const { tokens, visitor } = await signIn(platform, 'fay@example.com', scope)
    const offline = await signIn(platform, 'fay@example.com')
    await assertWorking([tokens.access_token])
    await visitor.submit(await visitor.open('/oauth/logout'), { logout: 'yes' })
    await assertEnded([tokens.access_token])
    await assertWorking([offline.tokens.access_token])
    const published = await signInPublished('fay@example.com')
    await assertWorking([published.token])
    await published.visitor.submit(await published.visitor.open('/oauth/logout'), { logout: 'yes' })
    await assertEnded([published.token])
  })

  test('by deleting the person, tokens of identities that they assumed stop working', async () => {
    const identity = await addPerson('gil@example.com')
    const { tokens } = await signIn(platform, 'gil@example.com')
    const issued = await withDescendants(tokens.access_token)
    await assertWorking(issued)
    await platform.deleteIdentity(identity)
    await assertEnded(issued)
  })
})
