// Attacks on sign-in: prepared links, mix-up of providers, stolen passwords and codes.
import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { userUid } from '@stemma/server/aip/uid.ts'
import { ensureVouchedAccount, setPassword } from '@stemma/server/auth/login/accounts.ts'
import { openPasswords } from '@stemma/server/auth/login/passwords.ts'
import { peopleOf } from '@stemma/server/authentication.ts'
import { sql } from '@stemma/server/store/sql.ts'
import type { TestIdentity } from '@stemma/server/testing/identities.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { passwordCost } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { decodeJwt } from 'jose'
import * as oidc from 'openid-client'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { clientSecret } from '../sign-in/organization-provider.ts'
import { addIdentityProvider, addVerifiedOrganization, callRest } from '../sign-in/organizations.ts'
import type { PromptlessProvider } from '../sign-in/promptless-provider.ts'
import { startPromptlessProvider } from '../sign-in/promptless-provider.ts'
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

const ada = 'ada@example.com'

onEachStore('an attacker at sign-in', (engine) => {
  let platform: Platform
  let party: oidc.Configuration
  let honest: PromptlessProvider
  let evil: PromptlessProvider
  let victimOwner: TestIdentity
  let attackerOwner: TestIdentity
  let honestUid: string
  let evilUid: string
  before(async () => {
    platform = await startSignInPlatform(engine)
    party = await relyingParty(platform.url)
    honest = await startPromptlessProvider('victim')
    evil = await startPromptlessProvider('whoever')
    victimOwner = await addVerifiedOrganization(platform, 'acme.example')
    attackerOwner = await platform.addOrganization('evil')
    honestUid = await addProvider(victimOwner, honest.issuer)
    evilUid = await addProvider(attackerOwner, evil.issuer)
  })
  after(async () => {
    await platform.stop()
    honest.close()
    evil.close()
  })

  const addProvider = (owner: TestIdentity, issuer: string) =>
    addIdentityProvider(platform, owner, { issuer, pkceEnabled: true })

  const newVisitor = () => new Visitor(platform.url, honest.issuer, evil.issuer)
  const bindingsOf = (identity: string) =>
    platform.store.query(sql`select uid from role_bindings where identity = ${identity}`)

  describe('cannot, with a prepared link,', () => {
    test('get a token of a person who is signed in at their provider', async () => {
      const code = String(generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }).x)
      const query = new URLSearchParams({ headless_code: code, idp_id: honestUid })
      const page = await newVisitor().open(`/oauth?${query}`)
      assert.equal(page.title, 'Sign in with acme.example')
      assert.match(page.text, /on another machine asks to be signed in as you/)
      assert.equal((await fetch(`${platform.url}/sts/headless_sessions?code=${code}`)).status, 404)
    })

    test('sign a person in as somebody else or redirect them', async () => {
      const visitor = newVisitor()
      const page = await visitor.open((await begin(party, { idp_id: evilUid })).url)
      assert.equal(page.title, 'Sign in with evil')
      assert.match(page.text, /Nobody has verified who this organization is/)
    })

    test('make a person accept an invite without noticing', async () => {
      await addAccount(platform, ada)
      const { visitor } = await signIn(platform, ada)
      const page = await visitor.open((await begin(party, { invite: 'some code' })).url)
      assert.match(page.text, /This also accepts an invite/)
    })
  })

  test('cannot make the server send a code of an honest provider to their own provider (mix-up attack)', async () => {
    // The attacker starts a sign-in at the honest provider and keeps its URL, which contains their nonce and challenge.
    const attacker = new Visitor(platform.url)
    const begun = await begin(party, { idp_id: honestUid })
    const honestUrl = new URL((await attacker.submitTo(await attacker.open(begun.url), '/organization')).url)
    // The victim signs in through the attacker's provider, which redirects to the honest one.
    evil.divert((query) => {
      const onward = new URL(honestUrl)
      onward.searchParams.set('state', query.get('state') ?? '')
      return onward.href
    })
    const victim = newVisitor()
    const page = await victim.open((await begin(party, { idp_id: evilUid })).url)
    const end = await victim.submitTo(page, '/organization')
    assert.equal(end.status, 401)
    assert.deepEqual(evil.tokenRequests, [])
    evil.divert(undefined)
  })

  test('cannot get a code by changing the issuer of a provider during a sign-in', async () => {
    const uid = await addProvider(attackerOwner, honest.issuer)
    const visitor = new Visitor(platform.url)
    const page = await visitor.open((await begin(party, { idp_id: uid })).url)
    const callback = await new Visitor(honest.issuer).open(await visitor.submitOnly(page, '/organization'))
    await callRest('PATCH', `${platform.url}/iam/v2beta1/identityProviders/${uid}`, attackerOwner.token, {
      oidc: { issuer: evil.issuer, clientSecret },
    })
    const end = await visitor.open(callback.url)
    assert.equal(end.status, 401)
    assert.deepEqual(evil.tokenRequests, [])
  })

  describe('who knows the password', () => {
    const changePassword = async (identity: string) => {
      const hash = await openPasswords(randomBytes, passwordCost).hash('an entirely new password')
      await platform.store.write(() => setPassword(identity, hash, Date.now()))
    }

    test('cannot finish a prepared sign-in after the password was changed', async () => {
      const identity = await addAccount(platform, 'bob@example.com')
      const visitor = new Visitor(platform.url)
      const begun = await begin(party)
      const page = await visitor.open(begun.url)
      const onward = await visitor.submitOnly(page, page.forms[0]?.action ?? '', {
        email: 'bob@example.com',
        password,
      })
      assert.match(onward, /\/oauth\/authorize\//)
      await changePassword(identity)
      const end = await visitor.open(onward)
      assert.equal(end.status, 400)
    })

    test('cannot keep a session by sending requests while the password is changed', async () => {
      const identity = await addAccount(platform, 'cyd@example.com')
      const { visitor, tokens } = await signIn(platform, 'cyd@example.com')
      const refreshed = await oidc.refreshTokenGrant(party, tokens.refresh_token ?? '')
      let isPasswordChanged = false
      const busy = Array.from({ length: 8 }, async () => {
        while (!isPasswordChanged) await visitor.open((await begin(party)).url).catch(() => undefined)
      })
      await changePassword(identity)
      isPasswordChanged = true
      await Promise.all(busy)
      assert.equal((await visitor.open((await begin(party)).url)).title, 'Sign in')
      await assert.rejects(oidc.refreshTokenGrant(party, refreshed.refresh_token ?? ''), {
        error: 'invalid_grant',
      })
    })

    test('cannot keep refresh tokens by using them while the password is changed', async () => {
      const identity = await addAccount(platform, 'dan@example.com')
      const visitor = new Visitor(platform.url)
      const redirect = 'http://localhost:8085/callback?token=true'
      const query = new URLSearchParams({ exit: 'redirect', redirect, create_refresh_token: 'true' })
      const page = await visitor.open(`/oauth?${query}`)
      const end = await visitor.submit(page, { email: 'dan@example.com', password })
      let refresh = new URL(end.url).searchParams.get('refresh_token') ?? ''
      assert.notEqual(refresh, '')
      let [isPasswordChanged, isRefused] = [false, false]
      const refreshOnce = async () => {
        const answer = await fetch(`${platform.url}/sts/exchange_refresh_token`, {
          method: 'POST',
          headers: { authorization: `Bearer ${refresh}` },
        })
        if (answer.status !== 200) return false
        refresh = ((await answer.json()) as { refreshToken: { token: string } }).refreshToken.token
        return true
      }
      assert.equal(await refreshOnce(), true)
      const chain = (async () => {
        while (!isPasswordChanged && !isRefused) isRefused = !(await refreshOnce())
      })()
      await changePassword(identity)
      isPasswordChanged = true
      await chain
      assert.equal(await refreshOnce(), false)
    })
  })

  test('does not get a removed role again by deleting the account or using another provider', async () => {
    const uid = userUid(honest.issuer, 'victim')
    const signInWithProvider = async (idp_id: string) => {
      const visitor = newVisitor()
      const begun = await begin(party, { idp_id })
      const end = await visitor.submitTo(await visitor.open(begun.url), '/organization')
      return redeem(party, begun, end)
    }
    const { access_token: token } = await signInWithProvider(honestUid)
    assert.equal((await bindingsOf(uid)).length, 1)
    await platform.unbind(uid)
    await callRest('DELETE', `${platform.url}/auth/v1/delete/${uid}`, token)
    await signInWithProvider(honestUid)
    assert.deepEqual(await bindingsOf(uid), [])
    await signInWithProvider(await addProvider(victimOwner, honest.issuer))
    assert.deepEqual(await bindingsOf(uid), [])
  })

  test('does not learn from an invalid invite whether an account exists', async () => {
    await addAccount(platform, 'eve@example.com')
    const answers = await Promise.all(
      ['eve@example.com', 'free@example.com'].map(async (email) => {
        const visitor = new Visitor(platform.url)
        const page = await visitor.open((await begin(party, { invite: 'no code at all' })).url)
        const { status, alert } = await visitor.submitTo(page, '/account', { email, password })
        return { status, alert }
      }),
    )
    assert.deepEqual(answers[0], answers[1])
  })

  test('cannot redeem a code of another person in their own sign-in', async () => {
    const [victim, attacker] = ['gus@example.com', 'hal@example.com']
    for (const email of [victim, attacker]) await addAccount(platform, email)
    const redirect = 'http://localhost:8085/callback'
    const path = `/oauth?${new URLSearchParams({ exit: 'redirect', redirect })}`
    /** Signs in with a new browser. The query is that of the callback, which contains a code. */
    const startSignIn = async (email: string) => {
      const visitor = new Visitor(platform.url)
      const page = await visitor.open(path)
      const onward = await visitor.submitOnly(page, page.forms[0]?.action ?? '', { email, password })
      return { visitor, query: new URL(await visitor.redirectOf(onward)).searchParams }
    }
    const finish = async ({ visitor, query }: Awaited<ReturnType<typeof startSignIn>>) => {
      const { url } = await visitor.open(`/oauth/finish?${query}`)
      return Object.fromEntries(new URL(url).searchParams)
    }
    const own = await finish(await startSignIn(attacker))
    assert.equal(decodeJwt(own.token ?? '').email, attacker)
    const victims = await startSignIn(victim)
    const attackers = await startSignIn(attacker)
    attackers.query.set('code', victims.query.get('code') ?? '')
    const stolen = await finish(attackers)
    assert.deepEqual([stolen.token, stolen.status_code], [undefined, '400'])
  })

  test('gets an error for a foreign audience and for control characters in names', async () => {
    const page = await new Visitor(platform.url).open(
      (await begin(party, { resource: 'https://evil.example' })).url,
    )
    assert.match(page.url, /error=invalid_target/)
    const visitor = new Visitor(platform.url)
    const form = await visitor.open((await begin(party)).url)
    assert.equal((await visitor.submit(form, { email: 'a\0b@example.com', password })).status, 401)
    assert.equal((await fetch(`${platform.url}/orgcheck?name=%00`)).status, 400)
    const providerPage = await visitor.open((await begin(party, { idp_id: 'a\0b' })).url)
    assert.equal(providerPage.status, 400)
  })

  test('gets no second identity for a verified e-mail address when the base URL of the server changes', async () => {
    const identity = await addAccount(platform, 'fay@example.com')
    const again = await platform.store.write(() =>
      ensureVouchedAccount(
        peopleOf({ access: operatorAccess, now: Date.now, random: randomBytes }),
        'https://elsewhere.example',
        'fay@example.com',
        Date.now(),
      ),
    )
    assert.equal(again, identity)
  })
})

onEachStore('behind a proxy', (engine) => {
  test('throttles count each client behind a trusted proxy separately', async () => {
    // The throttle counts failures in a minute, and the attempts may take longer.
    const time = Date.now()
    const platform = await startSignInPlatform(engine, ['--trusted-proxies', '127.0.0.0/8'], {
      ...{ now: () => time, maxFailedExchanges: 20 },
    })
    try {
      const attempt = async (address: string) => {
        const answer = await fetch(`${platform.url}/sts/exchange`, {
          headers: { authorization: 'Bearer nonsense', 'x-forwarded-for': `203.0.113.9, ${address}` },
        })
        await answer.text()
        return answer.status
      }
      for (let count = 0; count < 20; count++) assert.equal(await attempt('198.51.100.1'), 401)
      assert.equal(await attempt('198.51.100.1'), 429)
      assert.equal(await attempt('198.51.100.2'), 401)
    } finally {
      await platform.stop()
    }
  })
})
