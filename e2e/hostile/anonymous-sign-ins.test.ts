// Callers without an account who begin sign-ins and never finish them. The server stores nothing for a sign-in that is
// under way, and refuses device codes beyond a limit, so nobody can displace the sign-ins and device codes of others.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Configuration, DeviceAuthorizationResponse } from 'openid-client'
import * as oidc from 'openid-client'
import { openExpiringStates } from '../../server/auth/login/expiring-states.ts'
import { openText } from '../../server/crypto/secret.ts'
import { raw, sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { networksOf } from '../../server/wire/client-network.ts'
import type { StartedSignIn } from '../sign-in/sign-in.ts'
import {
  addAccount,
  begin,
  password,
  redeem,
  relyingParty,
  signIn,
  startSignInPlatform,
} from '../sign-in/sign-in.ts'
import type { Page } from '../sign-in/visitor.ts'
import { Visitor } from '../sign-in/visitor.ts'

/** The limits of server/auth/login/device-code-limits.ts for an IPv4 address or an IPv6 /64, and for an IPv6 /48. */
const maxDeviceCodes = { narrow: 100, middle: 300 }
const ada = 'ada@example.com'

onEachStore('a caller who begins sign-ins and does not finish them', (engine) => {
  let platform: Platform
  let party: Configuration
  before(async () => {
    platform = await startSignInPlatform(engine, ['--trusted-proxies', '127.0.0.0/8'])
    party = await relyingParty(platform.url)
    await addAccount(platform, ada)
  })
  after(() => platform.stop())

  /** The number of sign-in states that belong to no person. */
  const anonymousRows = async () => {
    const rows = await platform.store.query(
      sql`select count(*) from sign_in_states where ${raw('identity is null')}`,
    )
    return Number(rows[0]?.[0])
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
      retryAfter: answer.headers.get('retry-after'),
    }
  }

  const askForDeviceCode = (address: string) =>
    send('/oauth/device', address, { client_id: 'stemma', scope: 'openid' })

  /** Stores a device code for each address, as requests from there do, but in one transaction. */
  async function storeDeviceCodes(addresses: string[]): Promise<void> {
    const states = openExpiringStates({ secret: platform.secret, now: Date.now })
    await platform.store.write(function* () {
      for (const address of addresses) {
        const id = randomUUID()
        yield* states.put('DeviceCode', id, {}, 600, { networks: networksOf(address), userCode: id })
      }
    })
  }

  /** The statuses of requests for a device code, one for each address. */
  async function statusesAt(addresses: string[]): Promise<number[]> {
    const statuses: number[] = []
    for (const address of addresses) statuses.push((await askForDeviceCode(address)).status)
    return statuses
  }

  const visitorAt = (address: string) => Object.assign(new Visitor(platform.url), { address })

  type Unfinished = {
    visitor: Visitor
    begun: StartedSignIn
    page: Page
    device: DeviceAuthorizationResponse
  }

  /** Opens the form of a sign-in and asks for a device code, without finishing either. */
  async function beginAt(address: string): Promise<Unfinished> {
    const visitor = visitorAt(address)
    const begun = await begin(party)
    const page = await visitor.open(begun.url)
    const { status, text } = await askForDeviceCode(address)
    assert.equal(status, 200, text)
    return { visitor, begun, page, device: JSON.parse(text) as DeviceAuthorizationResponse }
  }

  async function assertFinishes({ visitor, begun, page, device }: Unfinished): Promise<void> {
    const end = await visitor.submit(page, { email: ada, password })
    assert.ok((await redeem(party, begun, end)).access_token)
    const other = visitorAt(visitor.address)
    const form = await other.open(device.verification_uri)
    const confirm = await other.submit(form, { user_code: device.user_code })
    const login = await other.submit(confirm, { confirm: 'yes' })
    assert.equal((await other.submit(login, { email: ada, password })).title, 'Your device is signed in')
    assert.ok((await oidc.pollDeviceAuthorizationGrant(party, { ...device, interval: 0.1 })).access_token)
  }

  test('at one address does not end unfinished sign-ins of others there, and leaves a bounded number of rows', async () => {
    const address = '198.51.100.1'
    const unfinished = await beginAt(address)
    const rowsBefore = await anonymousRows()
    for (let count = 0; count < 10; count++) {
      await send((await begin(party)).url, address)
      await send('/device', address)
      await send('/oauth/logout', address)
    }
    assert.equal(await anonymousRows(), rowsBefore)
    // With these codes and that of `unfinished`, 3 more reach the limit.
    await storeDeviceCodes(Array(maxDeviceCodes.narrow - 4).fill(address))
    const statuses = await statusesAt(Array(6).fill(address))
    assert.deepEqual(statuses, [200, 200, 200, 429, 429, 429])
    assert.equal(await anonymousRows(), rowsBefore + maxDeviceCodes.narrow - 1)
    const { text, retryAfter } = await askForDeviceCode(address)
    assert.deepEqual(JSON.parse(text), {
      error: 'temporarily_unavailable',
      error_description: 'too many devices of your network are waiting for a sign-in; try again later',
    })
    assert.equal(retryAfter, '60')
    await assertFinishes(unfinished)
    assert.ok((await signIn(platform, ada, {}, visitorAt(address))).tokens.access_token)
  })

  test('with many IPv6 networks (/64) does not hinder others', async () => {
    const unfinished = await beginAt('2001:db8:7::1')
    const addresses = Array.from(
      { length: maxDeviceCodes.middle + 2 },
      (_, at) => `2001:db8:7:${(at + 1).toString(16)}::1`,
    )
    for (const address of addresses.slice(0, 5)) await send((await begin(party)).url, address)
    // With the stored codes and that of `unfinished`, 3 more reach the limit.
    const stored = maxDeviceCodes.middle - 4
    await storeDeviceCodes(addresses.slice(0, stored))
    const statuses = await statusesAt(addresses.slice(stored))
    assert.deepEqual(statuses, [200, 200, 200, 429, 429, 429])
    await assertFinishes(unfinished)
    await assertFinishes(await beginAt('2001:db8:8::1'))
  })

  test('cannot send large parameters', async () => {
    const rowsBefore = await anonymousRows()
    const address = '198.51.100.4'
    const { url } = await begin(party)
    // A control character takes three characters in a URL and six in JSON.
    const authorization = await send(`${url}&login_hint=${'%01'.repeat(2000)}`, address)
    assert.match(authorization.location, /error=invalid_request&error_description=[^&]*too\+large/)
    const device = { client_id: 'stemma', scope: 'openid', login_hint: 'x'.repeat(12_000) }
    const { status, text } = await send('/oauth/device', address, device)
    assert.equal(status, 400)
    assert.match(text, /"invalid_request".*too large/)
    assert.equal(await anonymousRows(), rowsBefore)
  })

  test('cannot use a sign-out link that sets large cookies to prevent a sign-in', async () => {
    const link = `/oauth/logout?state=${'x'.repeat(4800)}`
    const visitor = new Visitor(platform.url)
    assert.equal((await visitor.open(link)).status, 200)
    assert.ok(visitor.cookie('stemma_visit0'), 'the link sets no session cookie')
    const sentWithEveryRequest = visitor.copyCookies().filter(({ path }) => path === '/')
    const length = sentWithEveryRequest.reduce((sum, { name, value }) => sum + name.length + value.length, 0)
    assert.ok(length < 1500, `${length} characters`)
    assert.ok((await signIn(platform, ada, {}, visitor)).tokens.access_token)
  })

  test('cannot use a sign-out link to prevent a person from signing in with another account', async () => {
    await addAccount(platform, 'eve@example.com')
    const { visitor } = await signIn(platform, ada)
    await visitor.open(`/oauth/logout?state=${'x'.repeat(4800)}`)
    const begun = await begin(party)
    const page = await visitor.open(`${(await visitor.open(begun.url)).url}?other`)
    const end = await visitor.submit(page, { email: 'eve@example.com', password })
    assert.ok((await redeem(party, begun, end)).access_token)
  })
})

onEachStore('the cookies of a sign-in that is under way', (engine) => {
  let platform: Platform
  let party: Configuration
  let time = Date.now()
  before(async () => {
    platform = await startSignInPlatform(engine, [], { now: () => time })
    party = await relyingParty(platform.url)
    await addAccount(platform, ada)
  })
  after(() => platform.stop())

  const cookieName = 'stemma_unfinished0'

  /** The encrypted part of the cookie, without the number of its parts in front. */
  function sealedCookieFor(visitor: Visitor, { url }: Page): string {
    const [, sealed] = /^1\.(.+)$/.exec(visitor.cookieFor(cookieName, url)?.value ?? '') ?? []
    assert.ok(sealed)
    return sealed
  }

  test('can contain parameters that are too long for one cookie', async () => {
    const { tokens } = await signIn(platform, ada, { skip_registration: 'x'.repeat(3500) })
    assert.ok(tokens.access_token)
  })

  test('are useless for another sign-in, when they are changed, and after an hour', async () => {
    const visitor = new Visitor(platform.url)
    const first = await visitor.open((await begin(party)).url)
    const second = await visitor.open((await begin(party)).url)
    const isAccepted = async (page: Page) => (await visitor.open(page.url)).status === 200
    assert.ok(await isAccepted(first))
    const [ofFirst, ofSecond] = [first, second].map(({ url }) => visitor.cookieFor(cookieName, url))
    assert.ok(ofFirst && ofSecond && ofFirst.value !== ofSecond.value)
    const { value } = ofFirst
    ofFirst.value = ofSecond.value
    assert.ok(!(await isAccepted(first)), 'the cookie of another sign-in is accepted')
    // A character of the authentication tag, so that only the check of the tag can refuse the cookie.
    ofFirst.value = value.replace(/(?<=^1\..{20})./, (character) => (character === 'A' ? 'B' : 'A'))
    assert.notEqual(ofFirst.value, value)
    assert.ok(!(await isAccepted(first)), 'a changed cookie is accepted')
    ofFirst.value = value
    assert.ok(await isAccepted(first))
    time += 60 * 60_000 + 1000
    assert.ok(!(await isAccepted(first)), 'an expired cookie is accepted')
  })

  test('reveal nothing, and do not finish a sign-in a second time', async () => {
    const visitor = new Visitor(platform.url)
    const begun = await begin(party, { login_hint: 'somebody@example.com' })
    const page = await visitor.open(begun.url)
    const sealed = sealedCookieFor(visitor, page)
    assert.ok(!Buffer.from(sealed, 'base64url').includes('somebody'))
    const unfinished = visitor.copyCookies()
    const resumed = await visitor.submitOnly(page, '', { email: ada, password })
    assert.equal(visitor.cookieFor(cookieName, page.url), undefined, 'the cookie is not deleted')
    const finished = visitor.copyCookies()
    assert.match(await visitor.redirectOf(resumed), /[?&]code=/)
    for (const copied of [finished, unfinished, [...unfinished, ...finished]]) {
      visitor.useCookies(copied)
      assert.doesNotMatch(await visitor.redirectOf(resumed), /[?&]code=/)
    }
  })

  test('are encrypted with another key than stored secrets, and so is the request of a published client', async () => {
    const sealer = platform.secret.sealerFor('sign-ins under way')
    const visitor = new Visitor(platform.url)
    const page = await visitor.open((await begin(party)).url)
    const cookie = sealedCookieFor(visitor, page)
    const uid = new URL(page.url).pathname.split('/').at(-1)
    const redirect = await visitor.redirectOf(
      `${platform.url}/oauth?exit=redirect&redirect=http://localhost:8085/callback`,
    )
    const state = new URL(redirect).searchParams.get('state') ?? ''
    for (const [purpose, sealed] of [
      [`unfinished sign-in Interaction ${uid}`, cookie],
      ['sign-in of a published client', state],
    ] as const) {
      assert.ok(openText(sealer, purpose, sealed))
      assert.throws(() => openText(platform.secret, purpose, sealed))
    }
  })

  test('are enough to cancel the sign-in: the client gets access_denied, and no row is stored', async () => {
    const rows = () => platform.store.query(sql`select id from sign_in_states`)
    const rowsBefore = await rows()
    const visitor = new Visitor(platform.url)
    const page = await visitor.open((await begin(party)).url)
    const end = await visitor.submitTo(page, '/cancel')
    assert.match(end.url, /[?&]error=access_denied/)
    assert.deepEqual(await rows(), rowsBefore)
  })

  test('do not restore the session of a person after another person has signed in with the same browser', async () => {
    await addAccount(platform, 'bob@example.com')
    const { visitor } = await signIn(platform, ada)
    const cookiesOfAda = visitor.copyCookies()
    const begun = await begin(party)
    const page = await visitor.open(`${(await visitor.open(begun.url)).url}?other`)
    const end = await visitor.submit(page, { email: 'bob@example.com', password })
    assert.ok((await redeem(party, begun, end)).access_token)
    visitor.useCookies(cookiesOfAda)
    const again = await visitor.open((await begin(party)).url)
    assert.equal(again.title, 'Sign in', 'the session of the first person has not ended')
  })
})
