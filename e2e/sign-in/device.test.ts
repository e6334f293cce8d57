// The device flow (RFC 8628).
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { sql } from '@stemma/server/store/sql.ts'
import type { Door } from '@stemma/server/testing/doors.ts'
import { grpcDoor, restDoor } from '@stemma/server/testing/doors.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import type { JWTPayload } from 'jose'
import { decodeJwt, jwtVerify, SignJWT } from 'jose'
import type { Configuration, DeviceAuthorizationResponse } from 'openid-client'
import * as oidc from 'openid-client'
import { discoveredKeys } from './discovered-keys.ts'
import { addAccount, password, relyingParty, signIn, startSignInPlatform } from './sign-in.ts'
import { Visitor } from './visitor.ts'

const ada = 'ada@example.com'
const { exchange } = SecurityTokenService.method

onEachStore('the device flow', (engine) => {
  let platform: Platform
  let identity: string
  let party: Configuration
  let doors: Door[]
  before(async () => {
    platform = await startSignInPlatform(engine)
    identity = await addAccount(platform, ada)
    party = await relyingParty(platform.url)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors ?? []) door.close()
    await platform?.stop()
  })

  const start = () => oidc.initiateDeviceAuthorization(party, { scope: 'openid offline_access' })

  /** Polls once and returns the response. */
  const poll = async ({ device_code }: DeviceAuthorizationResponse, client_id = 'stemma') => {
    const answer = await fetch(`${platform.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        ...{ client_id, device_code },
      }),
    })
    return (await answer.json()) as {
      error?: string
      access_token?: string
      refresh_token?: string
      id_token?: string
    }
  }

  test('signs a device in after the person has entered its code and confirmed', async () => {
    const device = await start()
    assert.match(device.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
    assert.equal(device.expires_in, 900)
    assert.equal(device.verification_uri, `${platform.url}/device`)
    assert.equal((await poll(device)).error, 'authorization_pending')
    const visitor = new Visitor(platform.url)
    const page = await visitor.open(device.verification_uri)
    // In lower case and with a space instead of the dash, as people may type it.
    const confirm = await visitor.submit(page, {
      user_code: device.user_code.toLowerCase().replace('-', ' '),
    })
    assert.equal(confirm.title, 'Is this your device?')
    assert.ok(confirm.text.includes(device.user_code))
    const login = await visitor.submit(confirm, { confirm: 'yes' })
    assert.equal(login.title, 'Sign in')
    assert.equal((await poll(device)).error, 'authorization_pending')
    const end = await visitor.submit(login, { email: ada, password })
    assert.equal(end.title, 'Your device is signed in')
    const { access_token = '', refresh_token = '' } = await poll(device)
    const whoami = await fetch(`${platform.url}/auth/v1/ok`, {
      headers: { authorization: `Bearer ${access_token}` },
    })
    assert.equal(((await whoami.json()) as { subject: string }).subject, identity)
    assert.ok((await oidc.refreshTokenGrant(party, refresh_token)).access_token)
    assert.equal((await poll(device)).error, 'invalid_grant', 'a device code is redeemed once')
  })

  describe('of a published program', () => {
    /** Like the device flow of the published Go SDK: a form with the client id, without PKCE. */
    const signInDevice = async () => {
      const form = { client_id: 'auth0', scope: 'openid email profile', redirect_uri: 'http://localhost/x' }
      const answer = await fetch(`${platform.url}/oauth/device`, {
        method: 'POST',
        body: new URLSearchParams(form),
      })
      assert.equal(answer.status, 200, await answer.clone().text())
      const device = (await answer.json()) as DeviceAuthorizationResponse
      assert.equal(device.interval, 5, 'without an interval, the program would poll without a pause')
      const { visitor } = await signIn(platform, ada)
      const page = await visitor.open(device.verification_uri)
      const confirm = await visitor.submit(page, { user_code: device.user_code })
      assert.equal(confirm.title, 'Is this your device?')
      await visitor.submitTo(await visitor.submit(confirm, { confirm: 'yes' }), '/continue')
      const { id_token = '' } = await poll(device, 'auth0')
      return id_token
    }

    test('yields an id token that the discovered keys verify and the exchange accepts', async () => {
      const idToken = await signInDevice()
      const { payload } = await jwtVerify(idToken, await discoveredKeys(platform.url), { audience: 'auth0' })
      assert.deepEqual([payload.sub, payload.email, payload.email_verified], [identity, ada, true])
      for (const door of doors) {
        const { body, error } = await door.call(exchange, {}, idToken)
        assert.ok(body, error?.message)
        const token = String(body.token)
        const { sub, email, exp = 0, act } = decodeJwt(token)
        assert.deepEqual([sub, email], [identity, ada])
        assert.ok(exp <= (payload.exp ?? 0), 'not valid for longer than the id token')
        assert.deepEqual(act, { iss: platform.url, sub: identity, aud: platform.url })
        const me = await door.call(Auth.method.validate, {}, token)
        assert.equal(me.body?.subject, identity)
        const registered = await door.call(Auth.method.register, {}, idToken)
        assert.equal(registered.body?.identity, identity)
      }
    })

    test('yields an id token that is not an access token, and cannot be exchanged if it was changed', async () => {
      const idToken = await signInDevice()
      const { kid, privateKey } = platform.keys.idTokenSigning()
      const sign = (claims: JWTPayload, header: Record<string, string> = {}) =>
        new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(privateKey)
      const claims = decodeJwt(idToken)
      const { sign_in: _, ...withoutSignIn } = claims
      for (const door of doors) {
        assert.equal((await door.call(Auth.method.validate, {}, idToken)).error?.code, 16)
        assert.equal((await door.call(exchange, {}, await sign(claims))).error, undefined)
        for (const token of [
          await sign({ ...claims, aud: 'published' }),
          await sign({ ...claims, aud: 'somebody' }),
          await sign(withoutSignIn),
          await sign(claims, { typ: 'logout+jwt' }),
          await sign(claims, { typ: 'at+jwt' }),
          `${idToken.slice(0, -8)}AAAAAAAA`,
        ])
          assert.equal((await door.call(exchange, {}, token)).error?.code, 16)
      }
    })
  })

  test('fills in the code from the link, but does not submit it for the person', async () => {
    const { visitor } = await signIn(platform, ada)
    const device = await start()
    const page = await visitor.open(device.verification_uri_complete ?? '')
    assert.equal(page.title, 'Sign in a device')
    assert.ok(!page.text.includes('<script'))
    assert.equal(page.forms[0]?.fields.user_code, device.user_code)
    const confirm = await visitor.submit(page, {})
    const again = await visitor.submit(confirm, { confirm: 'yes' })
    assert.equal(again.title, 'Continue?', 'a session does not replace the confirmation')
    assert.equal((await visitor.submitTo(again, '/continue')).title, 'Your device is signed in')
    assert.ok((await poll(device)).access_token)
  })

  test('reports a refusal to the device', async () => {
    const device = await start()
    const visitor = new Visitor(platform.url)
    const page = await visitor.open(device.verification_uri)
    const confirm = await visitor.submit(page, { user_code: device.user_code })
    const end = await visitor.submit(confirm, { abort: 'yes' })
    assert.equal(end.alert, 'The device was not signed in.')
    assert.equal((await poll(device)).error, 'access_denied')
  })

  test('refuses missing and unknown codes, and every code after too many attempts', async () => {
    const visitor = new Visitor(platform.url)
    const page = await visitor.open(`${platform.url}/device`)
    const missing = await visitor.submit(page, { user_code: '' })
    assert.match(missing.alert ?? '', /There is no such code/)
    let last = await visitor.submit(missing, { user_code: 'BBBB-BBBB' })
    assert.match(last.alert ?? '', /There is no such code/)
    for (let count = 0; count < 60 && last.status !== 429; count++)
      last = await visitor.submit(last, { user_code: 'BBBB-BBBB' })
    assert.equal(last.status, 429)
    assert.match(last.headers.get('retry-after') ?? '', /^\d+$/)
    const device = await start()
    const other = new Visitor(platform.url)
    const refused = await other.submit(await other.open(device.verification_uri), {
      user_code: device.user_code,
    })
    assert.equal(refused.status, 429, 'must not reveal that the code is right')
  })
})

onEachStore('a person who enters device codes', (engine) => {
  test('is throttled after ten wrong codes, and others are not', async () => {
    const platform = await startSignInPlatform(engine)
    try {
      await addAccount(platform, ada)
      const { visitor } = await signIn(platform, ada)
      let page = await visitor.open(`${platform.url}/device`)
      const statuses: number[] = []
      for (let count = 0; count < 12; count++) {
        const next = await visitor.submit(page, { user_code: 'BBBB-BBBB' })
        statuses.push(next.status)
        if (next.status === 200) page = next
      }
      assert.deepEqual(statuses, [...Array(10).fill(200), 429, 429])
      const stranger = new Visitor(platform.url)
      const form = await stranger.open(`${platform.url}/device`)
      assert.equal((await stranger.submit(form, { user_code: 'BBBB-BBBB' })).status, 200)
    } finally {
      await platform.stop()
    }
  })
})

// On one store, because the order of the writes does not depend on it.
test('the session of the browser is saved before the device code that expires with it', async (context) => {
  const platform = await startSignInPlatform('sqlite')
  context.after(() => platform.stop())
  await addAccount(platform, ada)
  const party = await relyingParty(platform.url)
  // Counts the sessions of the person whenever a device code of the person is saved.
  await platform.store.write(function* () {
    yield sql`create table seen_sessions (count integer)`
    yield sql`create trigger see_sessions after update on sign_in_states
      when new.user_code is not null and new.identity is not null begin
        insert into seen_sessions select count(*) from sign_in_states
          where session_uid is not null and identity = new.identity;
      end`
  })
  const device = await oidc.initiateDeviceAuthorization(party, { scope: 'openid' })
  const visitor = new Visitor(platform.url)
  const page = await visitor.open(device.verification_uri)
  const confirm = await visitor.submit(page, { user_code: device.user_code })
  const login = await visitor.submit(confirm, { confirm: 'yes' })
  const end = await visitor.submit(login, { email: ada, password })
  assert.equal(end.title, 'Your device is signed in')
  const [first] = await platform.store.query(sql`select count from seen_sessions`)
  assert.deepEqual(first, [1])
  const { id_token } = await oidc.pollDeviceAuthorizationGrant(party, device)
  assert.ok(id_token)
})
