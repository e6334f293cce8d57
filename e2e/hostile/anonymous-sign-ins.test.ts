// Callers without an account who begin sign-ins and never finish them. The server limits the number and the size of the
// rows that it stores for them, and the sign-ins of others are not affected.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Configuration } from 'openid-client'
import { raw, sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { addAccount, begin, password, redeem, relyingParty, signIn, startSignIn } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'

/** Maximum number of stored states for one network (server/auth/login/expiring-states.ts). */
const limit = 200
const ada = 'ada@example.com'

onEachStore('a caller who begins sign-ins and does not finish them', (engine) => {
  let platform: Platform
  let party: Configuration
  before(async () => {
    platform = await startSignIn(engine, ['--trusted-proxies', '127.0.0.0/8'])
    party = await relyingParty(platform.url)
    await addAccount(platform, ada)
  })
  after(() => platform.stop())

  const states = async () => {
    const rows = await platform.store.query(
      sql`select count(*), coalesce(sum(length(sealed)), 0) from sign_in_states where ${raw('identity is null')}`,
    )
    const [count, bytes] = (rows[0] ?? []).map(Number)
    return { count: count ?? 0, bytes: bytes ?? 0 }
  }

  const send = async (path: string, address: string, form?: Record<string, string>) => {
    const answer = await fetch(new URL(path, platform.url), {
      headers: { 'x-forwarded-for': address },
      redirect: 'manual',
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    return {
      status: answer.status,
      text: await answer.text(),
      location: answer.headers.get('location') ?? '',
    }
  }

  test('causes a limited number of rows, and others can finish sign-ins that they began before', async () => {
    const visitor = new Visitor(platform.url)
    visitor.address = '198.51.100.1'
    const begun = await begin(party)
    const page = await visitor.open(begun.url)
    const device = { client_id: 'stemma', scope: 'openid' }
    const attacker = '2001:db8:1:2::'
    for (let count = 0; count < 80; count++) {
      const address = `${attacker}${count.toString(16)}`
      await send((await begin(party)).url, address)
      await send('/oauth/device', address, device)
      await send('/device', address)
      await send('/oauth/logout', address)
    }
    const { count } = await states()
    assert.ok(count > limit / 2 && count <= limit + 10, `${count} rows are stored`)
    const end = await visitor.submit(page, { email: ada, password })
    assert.ok((await redeem(party, begun, end)).access_token)
  })

  test('does not prevent others at the same address from signing in', async () => {
    const visitor = new Visitor(platform.url)
    visitor.address = '198.51.100.3'
    for (let count = 0; count < limit + 20; count++) await send((await begin(party)).url, visitor.address)
    assert.ok((await signIn(platform, ada, {}, visitor)).tokens.access_token)
  })

  test('cannot store large parameters', async () => {
    const before = await states()
    const address = '198.51.100.4'
    const { url } = await begin(party)
    // A control character takes three characters in a URL and six in JSON.
    const authorization = await send(`${url}&login_hint=${'%01'.repeat(2000)}`, address)
    assert.match(authorization.location, /error=invalid_request&error_description=[^&]*too\+large/)
    const device = { client_id: 'stemma', scope: 'openid', login_hint: 'x'.repeat(12_000) }
    const { status, text } = await send('/oauth/device', address, device)
    assert.equal(status, 400)
    assert.match(text, /"invalid_request".*too large/)
    assert.deepEqual(await states(), before)
  })
})
