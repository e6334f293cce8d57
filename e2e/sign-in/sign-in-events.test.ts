// Sign-ins, sign-outs, chosen passwords and issued tokens in the event log of a person.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SealedEvent } from '@stemma/server/store/events/event-row.ts'
import { sql } from '@stemma/server/store/sql.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { recordedEvents, sealedEvents } from '@stemma/server/testing/sealed-events.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import * as oidc from 'openid-client'
import { runStemmadInline, until } from '../server/stemmad.ts'
import { addAccount, begin, password, relyingParty, signIn, startSignInPlatform } from './sign-in.ts'
import { Visitor } from './visitor.ts'

const ada = 'ada@example.com'
const newPassword = 'another horse battery staple'

onEachStore('the event log of a person', (engine) => {
  let platform: Platform
  let identity: string
  let party: oidc.Configuration
  before(async () => {
    platform = await startSignInPlatform(engine)
    identity = await addAccount(platform, ada)
    party = await relyingParty(platform.url)
  })
  after(() => platform.stop())

  let position = 0
  /** Waits for this many events after those of the last call. They are inserted shortly after they happen. */
  async function nextEvents(count: number): Promise<SealedEvent[]> {
    let events: SealedEvent[] = []
    await until(async () => {
      events = await sealedEvents(platform.store, identity, position)
      return events.length >= count
    })
    position = events.at(-1)?.sequence ?? position
    for (const { uid, group, origin } of events) {
      assert.deepEqual([uid, group], [identity, identity])
      if (!origin.includes('operator')) assert.match(origin, /"door":"sign-in","address":"/)
    }
    return events
  }
  const textOf = ({ method, action, code, details }: SealedEvent) =>
    `${method}: ${action} ${code} ${details ?? ''}`.trim()
  const expectEvents = async (...expected: string[]) =>
    assert.deepEqual((await nextEvents(expected.length)).map(textOf).sort(), expected.sort())

  const enter = async (email: string, typed: string) => {
    const visitor = new Visitor(platform.url)
    const page = await visitor.open((await begin(party)).url)
    return visitor.submit(page, { email, password: typed })
  }
  const operate = async (...args: string[]) => {
    const { dataDir, baseUrl, databaseUrl, secretKey } = platform.config
    const storeFlags = databaseUrl ? ['--database-url', databaseUrl, `--secret-key=${secretKey}`] : []
    const flags = ['--data-dir', dataDir, '--base-url', baseUrl, ...storeFlags]
    const { code, stdout, stderr } = await runStemmadInline([...args, ...flags])
    assert.equal(code, 0, stderr)
    return stdout
  }

  test('has the sign-in, each token that was issued, and the sign-out', async () => {
    await expectEvents('stemmad: created 0')
    const { tokens, visitor } = await signIn(platform, ada)
    await expectEvents(
      'sign-in: signed-in 0 {"by":"pwd"}',
      'oauth/token: issued 0 {"grant":"authorization_code","client":"stemma"}',
    )
    const refreshed = await oidc.refreshTokenGrant(party, tokens.refresh_token ?? '')
    await expectEvents('oauth/token: refreshed 0 {"grant":"refresh_token","client":"stemma"}')
    const exchanged = await fetch(`${platform.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        subject_token: refreshed.access_token,
      }),
    })
    assert.equal(exchanged.status, 200, await exchanged.text())
    await expectEvents('oauth/token: exchanged 0')
    await oidc.tokenRevocation(party, refreshed.refresh_token ?? '')
    await expectEvents('oauth/revoke: signed-out 0 {"by":"revocation"}')
    await visitor.submit(await visitor.open('/oauth/logout'), { logout: 'yes' })
    await expectEvents('sign-out: signed-out 0 {"by":"browser"}')
    const other = await signIn(platform, ada)
    await oidc.tokenRevocation(party, other.tokens.access_token)
    const events = (await nextEvents(3)).map(textOf)
    assert.ok(events.includes('oauth/revoke: signed-out 0 {"by":"revocation"}'), events.join('\n'))
  })

  test('has the tokens of a device', async () => {
    const device = await oidc.initiateDeviceAuthorization(party, { scope: 'openid' })
    const visitor = new Visitor(platform.url)
    const page = await visitor.open(device.verification_uri)
    const confirm = await visitor.submit(page, { user_code: device.user_code })
    const login = await visitor.submit(confirm, { confirm: 'yes' })
    await visitor.submit(login, { email: ada, password })
    const answer = await fetch(`${platform.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        ...{ client_id: 'stemma', device_code: device.device_code },
      }),
    })
    assert.equal(answer.status, 200)
    await expectEvents(
      'sign-in: signed-in 0 {"by":"pwd"}',
      'oauth/token: issued 0 {"grant":"device_code","client":"stemma"}',
    )
  })

  test('has refused sign-ins, without an actor, and no event for unknown addresses', async () => {
    await enter('nobody@example.com', password)
    await enter(ada, 'wrong horse battery staple')
    const [wrong, ...others] = await nextEvents(1)
    assert.deepEqual(others, [])
    assert.deepEqual([wrong && textOf(wrong), wrong?.actor], ['sign-in: refused 16 {"by":"pwd"}', ''])
    await operate('users', 'disable', ada)
    await enter(ada, password)
    await expectEvents('stemmad users disable: disabled 0', 'sign-in: refused 7 {"by":"pwd"}')
    await operate('users', 'enable', ada)
    await expectEvents('stemmad users enable: enabled 0')
    const refused = await platform.store.query(
      sql`select uid from ${recordedEvents} where action = 'refused'`,
    )
    assert.deepEqual(new Set(refused.flat()), new Set([identity]))
  })

  test('has an event for a wrong password in the form for a new account, whatever the invite', async () => {
    const visitor = new Visitor(platform.url)
    const page = await visitor.open((await begin(party, { invite: 'no such invite' })).url)
    const create = (typed: string) => visitor.submitTo(page, '/account', { email: ada, password: typed })
    await create('wrong horse battery staple')
    const [wrong, ...others] = await nextEvents(1)
    assert.deepEqual(others, [])
    assert.deepEqual([wrong && textOf(wrong), wrong?.actor], ['sign-in: refused 16 {"by":"pwd"}', ''])
    await create(password)
    const [refused] = await nextEvents(1)
    assert.match(refused ? textOf(refused) : '', /^sign-in: refused \d+ \{"by":"pwd"\}$/)
  })

  test('has the refusal of a sign-in that continues a session', async () => {
    const visitor = new Visitor(platform.url)
    await visitor.submit(await visitor.open((await begin(party)).url), { email: ada, password })
    await expectEvents('sign-in: signed-in 0 {"by":"pwd"}')
    const page = await visitor.open((await begin(party, { invite: 'no such invite' })).url)
    await visitor.submitTo(page, '/continue')
    const [refused] = await nextEvents(1)
    assert.match(refused ? textOf(refused) : '', /^sign-in: refused \d+ \{"by":"session"\}$/)
  })

  test('has no event for a passkey whose id is not base64url, which is refused like an unknown one', async () => {
    const visitor = new Visitor(platform.url)
    const page = await visitor.open((await begin(party)).url)
    const alerts: (string | undefined)[] = []
    for (const id of ['unknown', '\0']) {
      const response = JSON.stringify({ id, response: {} })
      const refused = await visitor.submitTo(page, '/passkey', { response })
      assert.equal(refused.status, 401)
      alerts.push(refused.alert)
    }
    assert.match(alerts[0] ?? '', /this passkey cannot be used here/i)
    assert.equal(alerts[1], alerts[0])
  })

  test('has an event for a chosen password, without the password', async () => {
    const [link = ''] = /http\S+\/password\?code=\S+/.exec(await operate('users', 'reset', ada)) ?? []
    const visitor = new Visitor(platform.url)
    await visitor.submit(await visitor.open(link), { password: newPassword })
    await expectEvents('stemmad users reset: password-reset 0', 'password: password-set 0')
    const all = JSON.stringify(await sealedEvents(platform.store, identity))
    for (const secret of [password, newPassword, new URL(link).searchParams.get('code') ?? link])
      assert.ok(!all.includes(secret))
  })
})
