// Secrets of sign-in appear in no log line, no metric, and nowhere in the store.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import { sql } from '@stemma/server/store/sql.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { startPlatform } from '@stemma/server/testing/platform.ts'
import { recordedEvents } from '@stemma/server/testing/sealed-events.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import * as oidc from 'openid-client'
import { freePort } from '../../api/testing/free-port.ts'
import { captureLog } from '../server/captured-log.ts'
import { until } from '../server/stemmad.ts'
import { addAccount, begin, password, redeem, relyingParty } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'
import { storedTexts } from './stored-texts.ts'

const ada = 'ada@example.com'

onEachStore('sign-in does not reveal', (engine) => {
  let platform: Platform
  const { log, written: logged } = captureLog('trace')
  before(async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const args = ['--port', new URL(url).port, '--base-url', url]
    platform = await startPlatform(engine, args, {}, log)
    await addAccount(platform, ada)
  })
  after(() => platform.stop())

  async function assertUnseen(hidden: Record<string, string | undefined>): Promise<void> {
    const seen = [...logged, await (await fetch(`${platform.url}/metrics`)).text()]
    const stored = await storedTexts(platform.store)
    const recorded = ['events', 'unsealed_events'].flatMap((table) => stored.get(table) ?? [])
    assert.ok(recorded.includes('signed-in') && recorded.includes('refused'))
    seen.push(...[...stored.values()].flat())
    assert.ok(
      logged.some((line) => line.includes('signed in')),
      'the sign-in was not logged',
    )
    for (const [name, secret = ''] of Object.entries(hidden)) {
      assert.ok(secret.length > 10, name)
      for (const form of [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret)])
        assert.equal(
          seen.find((text) => text.includes(form)),
          undefined,
          name,
        )
    }
  }

  test('passwords, codes, cookies and tokens', async () => {
    const party = await relyingParty(platform.url)
    const visitor = new Visitor(platform.url)
    const answer = await fetch(`${platform.url}/iam/v2beta1/groupInvites/${platform.owner.organization}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.owner.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ roleUid: builtInRole('viewer').uid, ttl: '600s' }),
    })
    const { code: invite } = (await answer.json()) as { code: string }
    const begun = await begin(party, { invite })
    const page = await visitor.open(begun.url)
    const wrongPassword = 'a password that is wrong'
    await visitor.submit(page, { email: ada, password: wrongPassword })
    const interaction = visitor.cookie('stemma_sign_in')
    const end = await visitor.submit(page, { email: ada, password })
    const code = new URL(end.url).searchParams.get('code') ?? ''
    const tokens = await redeem(party, begun, end)
    const refreshed = await oidc.refreshTokenGrant(party, tokens.refresh_token ?? '')
    const device = await oidc.initiateDeviceAuthorization(party, { scope: 'openid' })
    const redirect = 'http://localhost:8085/callback?token=true'
    const query = new URLSearchParams({ exit: 'redirect', redirect, create_refresh_token: 'true' })
    const publishedClientPage = await visitor.submitTo(await visitor.open(`/oauth?${query}`), '/continue')
    const { searchParams } = new URL(publishedClientPage.url)
    const publishedRefresh = searchParams.get('refresh_token') ?? ''
    // The refused sign-in is recorded shortly afterwards.
    const refused = sql`select 1 from ${recordedEvents} where action = 'refused'`
    await until(async () => (await platform.store.query(refused)).length > 0)
    await assertUnseen({
      ...{ password, wrongPassword, invite, code, interaction, verifier: begun.verifier },
      session: visitor.cookie('stemma_session'),
      access: tokens.access_token,
      identity: tokens.id_token,
      refresh: tokens.refresh_token,
      refreshed: refreshed.refresh_token,
      device: device.device_code,
      published: searchParams.get('token') ?? '',
      publishedRefresh,
      publishedSecret: JSON.parse(Buffer.from(publishedRefresh, 'base64').toString()).secret,
    })
    const userCode = device.user_code.replace('-', '')
    for (const row of await platform.store.query(
      sql`select user_code from sign_in_states where user_code is not null`,
    ))
      assert.ok(!String(row[0]).includes(userCode))
  })
})
