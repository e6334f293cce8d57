// The device flow (RFC 8628).
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import type { Configuration, DeviceAuthorizationResponse } from 'openid-client'
import * as oidc from 'openid-client'
import { addAccount, password, relyingParty, signIn, startSignInPlatform } from './sign-in.ts'
import { Visitor } from './visitor.ts'

const ada = 'ada@example.com'

onEachStore('the device flow', (engine) => {
  let platform: Platform
  let identity: string
  let party: Configuration
  before(async () => {
    platform = await startSignInPlatform(engine)
    identity = await addAccount(platform, ada)
    party = await relyingParty(platform.url)
  })
  after(() => platform.stop())

  const start = () => oidc.initiateDeviceAuthorization(party, { scope: 'openid offline_access' })

  /** Polls once and returns the response. */
  const poll = async ({ device_code }: DeviceAuthorizationResponse) => {
    const answer = await fetch(`${platform.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        client_id: 'stemma',
        device_code,
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
