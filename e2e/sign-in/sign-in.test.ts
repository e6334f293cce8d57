// Sign-in with a password, through openid-client as relying party.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { signOutEverywhere } from '@stemma/server/auth/sign-outs.ts'
import { sql } from '@stemma/server/store/sql.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { sealedEvents } from '@stemma/server/testing/sealed-events.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as oidc from 'openid-client'
import { addAccount, begin, password, redeem, relyingParty, signIn, startSignInPlatform } from './sign-in.ts'
import { Visitor } from './visitor.ts'

const ada = 'ada@example.com'
const wrongCredentials = 'The e-mail address or the password is wrong.'

onEachStore('sign-in with a password', (engine) => {
  let platform: Platform
  let identity: string
  let party: oidc.Configuration
  let clockOffset = 0
  before(async () => {
    platform = await startSignInPlatform(engine, [], { now: () => Date.now() + clockOffset })
    identity = await addAccount(platform, ada)
    party = await relyingParty(platform.url)
  })
  after(() => platform.stop())

  const statusWith = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${platform.url}/auth/v1/ok`, { headers })).status
  }

  async function whoAmI(token: string): Promise<{ subject: string; email: string }> {
    const answer = await fetch(`${platform.url}/auth/v1/ok`, {
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(answer.status, 200, await answer.clone().text())
    return answer.json() as Promise<{ subject: string; email: string }>
  }

  test('returns an access token for the API and a verifiable id token', async () => {
    const { tokens, end } = await signIn(platform, ada)
    assert.ok(end.url.startsWith('http://127.0.0.1:45678/callback?'), end.text)
    const { subject, email } = await whoAmI(tokens.access_token)
    assert.deepEqual({ subject, email }, { subject: identity, email: ada })
    assert.equal(tokens.claims()?.sub, identity)
    assert.equal(tokens.claims()?.email, ada)
    const header = decodeProtectedHeader(tokens.access_token)
    assert.deepEqual([header.typ, header.alg], ['at+jwt', 'RS256'])
    assert.equal(decodeProtectedHeader(tokens.id_token ?? '').alg, 'RS256')
    const claims = decodeJwt(tokens.access_token)
    assert.equal(claims.aud, platform.config.baseUrl)
    assert.equal(claims.exp, (claims.iat ?? 0) + 3600)
    assert.ok(!('cap' in claims) && !('scopes' in claims))
  })

  test('is recorded in the log of the person', async () => {
    await signIn(platform, ada)
    const events = await sealedEvents(platform.store, identity)
    const signedIn = events.findLast(({ action }) => action === 'signed-in')
    assert.deepEqual(
      [signedIn?.uid, signedIn?.actor, signedIn?.details],
      [identity, identity, '{"by":"pwd"}'],
    )
    const origin = JSON.parse(signedIn?.origin ?? '{}')
    assert.deepEqual([origin.door, origin.signIn], ['sign-in', { person: identity }])
    assert.match(origin.address, /127\.0\.0\.1|::1/)
  })

  test('gives the same error for an unknown address, a missing and a wrong password', async () => {
    for (const [email, typed] of [
      [ada, 'wrong horse battery staple'],
      ['nobody@example.com', password],
      [ada, ''],
      ['', ''],
    ] as const) {
      const visitor = new Visitor(platform.url)
      const page = await visitor.open((await begin(party)).url)
      assert.equal(page.title, 'Sign in')
      const again = await visitor.submit(page, { email, password: typed })
      assert.equal(again.status, 401)
      assert.equal(again.alert, wrongCredentials)
      assert.ok(!again.text.includes('wrong horse'), 'a password is never sent back')
    }
  })

  test('ignores upper and lower case in addresses, and spaces around them', async () => {
    const { tokens } = await signIn(platform, ' Ada@Example.COM ')
    assert.equal((await whoAmI(tokens.access_token)).subject, identity)
  })

  describe('the session of a browser', () => {
    test('signs a program in only after a confirmation', async () => {
      const { visitor } = await signIn(platform, ada)
      const begun = await begin(party, { prompt: '' })
      const page = await visitor.open(begun.url)
      assert.equal(page.title, 'Continue?')
      assert.match(page.text, /ada@example\.com/)
      const end = await visitor.submitTo(page, '/continue')
      const tokens = await redeem(party, begun, end)
      assert.equal((await whoAmI(tokens.access_token)).subject, identity)
    })

    test('ends when somebody else signs in', async () => {
      const bob = await addAccount(platform, 'bob@example.com')
      const { visitor } = await signIn(platform, ada)
      const begun = await begin(party)
      const page = await visitor.open(begun.url)
      const other = await visitor.submit(page, { other: '1' }, 1)
      assert.equal(other.title, 'Sign in')
      const end = await visitor.submit(other, { email: 'bob@example.com', password })
      const tokens = await redeem(party, begun, end)
      assert.equal((await whoAmI(tokens.access_token)).subject, bob)
      assert.match((await visitor.open((await begin(party)).url)).text, /bob@example\.com/)
    })

    test('ends when the person signs out', async () => {
      const { visitor } = await signIn(platform, ada)
      const page = await visitor.open('/oauth/logout')
      assert.equal(page.title, 'Sign out?')
      const out = await visitor.submit(page, { logout: 'yes' })
      assert.equal(out.title, 'Signed out')
      assert.equal((await visitor.open((await begin(party)).url)).title, 'Sign in')
    })
  })

  describe('a refresh token', () => {
    const assertRefused = (token: string) =>
      assert.rejects(oidc.refreshTokenGrant(party, token), { error: 'invalid_grant' })

    const later = async <T>(milliseconds: number, action: () => Promise<T>): Promise<T> => {
      clockOffset = milliseconds
      try {
        return await action()
      } finally {
        clockOffset = 0
      }
    }
    const afterGracePeriod = (action: () => Promise<void>) => later(61_000, action)

    test('keeps the e-mail address and the name in id tokens and access tokens', async () => {
      const { tokens } = await signIn(platform, ada)
      const next = await oidc.refreshTokenGrant(party, tokens.refresh_token ?? '')
      for (const { access_token, id_token = '' } of [tokens, next]) {
        const { email, email_verified } = decodeJwt(access_token)
        assert.deepEqual([email, email_verified], [ada, true])
        const claims = decodeJwt(id_token)
        assert.deepEqual([claims.email, claims.email_verified, claims.name], [ada, true, ada])
      }
    })

    test('works once and returns the next one; using it again later ends the sign-in', async () => {
      const { tokens } = await signIn(platform, ada)
      const first = tokens.refresh_token ?? ''
      const second = await oidc.refreshTokenGrant(party, first)
      assert.equal((await whoAmI(second.access_token)).subject, identity)
      assert.notEqual(second.refresh_token, first)
      await afterGracePeriod(async () => {
        await assertRefused(first)
        await assertRefused(second.refresh_token ?? '')
        assert.equal(await statusWith(second.access_token), 401)
      })
    })

    test('returns the same next token for a minute, also to programs that use it at the same time', async () => {
      const { tokens } = await signIn(platform, ada)
      const first = tokens.refresh_token ?? ''
      const concurrent = await Promise.all(
        Array.from({ length: 8 }, () => oidc.refreshTokenGrant(party, first)),
      )
      const repeated = await later(45_000, () => oidc.refreshTokenGrant(party, first))
      const results = [...concurrent, repeated]
      assert.equal(new Set(results.map(({ refresh_token }) => refresh_token)).size, 1)
      for (const { access_token } of results) assert.equal(await statusWith(access_token), 200)
      const third = await oidc.refreshTokenGrant(party, repeated.refresh_token ?? '')
      const fourth = await oidc.refreshTokenGrant(party, third.refresh_token ?? '')
      const late = await oidc.refreshTokenGrant(party, first)
      assert.equal(late.refresh_token, fourth.refresh_token, 'the newest token, if the next one was used too')
      await afterGracePeriod(async () => {
        await assertRefused(first)
        await assertRefused(fourth.refresh_token ?? '')
      })
    })

    test('is refused even during that minute if the person was signed out or the sign-in was revoked', async () => {
      const endings = [
        () => platform.store.write(() => signOutEverywhere(identity, Date.now())),
        (successor: string) => oidc.tokenRevocation(party, successor),
      ]
      for (const end of endings) {
        const { tokens } = await signIn(platform, ada)
        const next = await oidc.refreshTokenGrant(party, tokens.refresh_token ?? '')
        await end(next.refresh_token ?? '')
        await assertRefused(tokens.refresh_token ?? '')
        await assertRefused(next.refresh_token ?? '')
        assert.equal(await statusWith(next.access_token), 401)
      }
    })

    test('expires thirty days after the sign-in, however often it is used', async () => {
      const bea = await addAccount(platform, 'bea@example.com')
      const { tokens } = await signIn(platform, 'bea@example.com')
      const latestEnd = async () => {
        const rows = await platform.store.query(
          sql`select max(expire_time) from sign_in_states where grant_id is not null and identity = ${bea}`,
        )
        return rows[0]?.[0] as number
      }
      const end = await latestEnd()
      assert.ok(end <= Date.now() + 30 * 24 * 60 * 60 * 1000 + 2000)
      await sleep(3000) // longer than the rounding error of times in whole seconds
      await oidc.refreshTokenGrant(party, tokens.refresh_token ?? '')
      assert.ok((await latestEnd()) < end + 2000)
    })

    test('can be revoked, which ends only its own sign-in', async () => {
      const first = await signIn(platform, ada)
      const begun = await begin(party)
      const page = await first.visitor.open(begun.url)
      const other = await redeem(party, begun, await first.visitor.submitTo(page, '/continue'))
      await oidc.tokenRevocation(party, first.tokens.refresh_token ?? '')
      await assertRefused(first.tokens.refresh_token ?? '')
      assert.ok(await oidc.refreshTokenGrant(party, other.refresh_token ?? ''))
    })

    test('is invalid after the person is deleted', async () => {
      const gone = await addAccount(platform, 'gone@example.com')
      const { tokens } = await signIn(platform, 'gone@example.com')
      await platform.deleteIdentity(gone)
      await assertRefused(tokens.refresh_token ?? '')
    })
  })

  describe('a program', () => {
    test('must use PKCE and a loopback redirect URI', async () => {
      const begun = await begin(party)
      const unknownUri = /redirect_uri did not match/
      for (const [changes, refusal] of [
        [{ code_challenge: '', code_challenge_method: '' }, /[?&]error=invalid_request&.*requires\+PKCE/],
        [{ code_challenge_method: 'plain' }, /[?&]error=invalid_request&.*code_challenge_method/],
        [{ redirect_uri: 'https://evil.example/callback' }, unknownUri],
        [{ redirect_uri: 'http://127.0.0.1:45678/elsewhere' }, unknownUri],
        [{ redirect_uri: 'http://127.0.0.1.evil.example/callback' }, unknownUri],
        [{ client_id: 'somebody' }, /client is invalid/],
      ] as [Record<string, string>, RegExp][]) {
        const url = new URL(begun.url)
        for (const [name, value] of Object.entries(changes))
          if (value === '') url.searchParams.delete(name)
          else url.searchParams.set(name, value)
        const page = await new Visitor(platform.url).open(url.href)
        // An error is shown on a page, or sent to the program in a redirect.
        assert.match(page.alert ?? page.url, refusal, JSON.stringify(changes))
        assert.ok(!new URL(page.url).hostname.includes('evil.example'))
      }
    })

    test('cannot redeem a code twice or with another verifier', async () => {
      const visitor = new Visitor(platform.url)
      const begun = await begin(party)
      const end = await visitor.submit(await visitor.open(begun.url), { email: ada, password })
      const withOtherVerifier = { ...begun, verifier: oidc.randomPKCECodeVerifier() }
      await assert.rejects(redeem(party, withOtherVerifier, end), { error: 'invalid_grant' })
      const again = await begin(party)
      const second = await visitor.submitTo(await visitor.open(again.url), '/continue')
      const attempts = await Promise.allSettled([1, 2, 3, 4].map(() => redeem(party, again, second)))
      assert.ok(attempts.filter(({ status }) => status === 'fulfilled').length <= 1)
    })

    test('gets access_denied when the person cancels', async () => {
      const visitor = new Visitor(platform.url)
      const begun = await begin(party)
      const end = await visitor.submitTo(await visitor.open(begun.url), '/cancel')
      assert.match(end.url, /^http:\/\/127\.0\.0\.1:45678\/callback\?.*error=access_denied/)
    })
  })

  test('can be completed only in the browser that started it', async () => {
    const begun = await begin(party)
    const page = await new Visitor(platform.url).open(begun.url)
    const stranger = await new Visitor(platform.url).open(page.url)
    assert.equal(stranger.status, 400)
    assert.match(stranger.alert ?? '', /begun in another browser/)
  })

  test('sends pages that cannot be framed, and whose only script is from this server', async () => {
    const page = await new Visitor(platform.url).open((await begin(party)).url)
    const policy = page.headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.equal(page.headers.get('cache-control'), 'no-store')
    // With `same-origin`, other sites get no referrer. With `no-referrer`, browsers would also hide the origin of our
    // own forms from the server.
    assert.equal(page.headers.get('referrer-policy'), 'same-origin')
    assert.match(policy, /script-src 'self';/)
    assert.deepEqual(page.text.match(/<script.*/g), ['<script src="/sign-in.js" defer></script>'])
    assert.ok(!/\son\w+=/i.test(page.text))
  })

  test('escapes typed values in pages', async () => {
    const visitor = new Visitor(platform.url)
    const page = await visitor.open((await begin(party, { login_hint: '"><script>alert(1)</script>' })).url)
    assert.ok(!page.text.includes('<script>'))
    const again = await visitor.submit(page, { email: `'"><img src=x>@example.com`, password: 'x' })
    assert.ok(!again.text.includes('<img'))
  })
})

onEachStore('too many wrong passwords', (engine) => {
  let platform: Platform
  let time = Date.now()
  before(async () => {
    platform = await startSignInPlatform(engine, [], { now: () => time })
    await addAccount(platform, ada)
  })
  after(() => platform.stop())

  test('throttle the account and no other', async () => {
    await addAccount(platform, 'bob@example.com')
    const party = await relyingParty(platform.url)
    const visitor = new Visitor(platform.url)
    const page = await visitor.open((await begin(party)).url)
    const attempt = (email: string, typed: string) => visitor.submit(page, { email, password: typed })
    // Concurrent, so that every attempt starts before any other has failed.
    const answers = await Promise.all(
      Array.from({ length: 14 }, (_, at) => attempt(ada, `guess number ${at}`)),
    )
    assert.equal(answers.filter(({ status }) => status === 401).length, 10)
    const throttled = answers.filter(({ status }) => status === 429)
    assert.equal(throttled.length, 4)
    assert.match(throttled[0]?.headers.get('retry-after') ?? '', /^\d+$/)
    assert.match(throttled[0]?.alert ?? '', /^Too many attempts/)
    assert.equal((await attempt(ada, password)).status, 429, 'must not reveal that the password is right')
    assert.equal((await attempt('bob@example.com', 'wrong password here')).status, 401)
    time += 6 * 60_000
    assert.equal((await attempt(ada, 'a guess again later')).status, 401)
  })
})
