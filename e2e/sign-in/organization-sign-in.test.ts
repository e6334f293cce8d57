// Sign-in through the identity provider of an organization, with a real third-party provider over sockets.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { userUid } from '@stemma/server/aip/uid.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import { sql } from '@stemma/server/store/sql.ts'
import type { TestIdentity } from '@stemma/server/testing/identities.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { sealedEvents } from '@stemma/server/testing/sealed-events.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { decodeJwt } from 'jose'
import type { Configuration } from 'openid-client'
import * as oidc from 'openid-client'
import type { OrganizationProvider } from './organization-provider.ts'
import { clientId, clientSecret, startProvider } from './organization-provider.ts'
import { addIdentityProvider, addVerifiedOrganization, callRest } from './organizations.ts'
import type { StartedSignIn } from './sign-in.ts'
import { addAccount, begin, password, redeem, relyingParty, startSignInPlatform } from './sign-in.ts'
import type { Page } from './visitor.ts'
import { Visitor } from './visitor.ts'

const people = {
  'ada-at-acme': { email: 'ada@acme.example', email_verified: true, name: 'Ada' },
  'bob-at-acme': { email: 'bob@elsewhere.example', email_verified: true },
  'eve-at-acme': { email: 'eve@acme.example', email_verified: 'false' },
  'fay-at-acme': { email: 'fay@acme.example' },
  'gus-at-acme': { email: 'gus@acme.example', email_verified: true, name: 'Gus' },
  'cyd-at-acme': { email: 'cyd@acme.example', email_verified: true, oid: 'object-of-cyd' },
}

type StoredIdentity = { name?: string; email?: string; emailUnverified?: string }

onEachStore("sign-in by an organization's provider", (engine) => {
  let platform: Platform
  let acme: OrganizationProvider
  let party: Configuration
  let owner: TestIdentity
  let providerUid: string
  before(async () => {
    platform = await startSignInPlatform(engine)
    party = await relyingParty(platform.url)
    acme = await startProvider(`${platform.url}/oauth/callback`, people)
    owner = await addVerifiedOrganization(platform, 'acme.example')
    providerUid = await addProvider({})
  })
  after(async () => {
    await platform.stop()
    await acme.close()
  })

  const call = (method: string, path: string, body?: JsonObject) =>
    callRest(method, `${platform.url}/iam/v2beta1/${path}`, owner.token, body)

  const addProvider = (oidc: JsonObject, admin = owner) =>
    addIdentityProvider(platform, admin, { issuer: acme.issuer, additionalScopes: ['email'], ...oidc })

  const newVisitor = () => new Visitor(platform.url, acme.issuer)

  /** Signs in through the pages of both servers. `end` is the last page. */
  async function signIn(login: string, parameters: Record<string, string>, visitor = newVisitor()) {
    const begun = await begin(party, parameters)
    const page = await visitor.open(begun.url)
    assert.match(page.title, /^Sign in with /, page.text)
    return { begun, visitor, end: await acme.signIn(visitor, page, login) }
  }

  async function subjectOf({ begun, end }: { begun: StartedSignIn; end: Page }): Promise<string> {
    const tokens = await redeem(party, begun, end)
    return tokens.claims()?.sub ?? ''
  }

  const rolesOf = async (identity: string) => {
    const { roleBindings } = await call('GET', `roleBindings?identity=${identity}`)
    return (roleBindings as { roleUid?: string; role: { name: string } }[]).map(({ role }) => role.name)
  }

  const identityOf = async (uid: string) => {
    const [row] = await platform.store.query(sql`select json from identities where uid = ${uid}`)
    return JSON.parse((row?.[0] as string | undefined) ?? '{}') as StoredIdentity
  }

  test('creates the person and grants the default role at the first sign-in', async () => {
    const subject = await subjectOf(await signIn('ada-at-acme', { idp_id: providerUid }))
    assert.equal(subject, userUid(acme.issuer, 'ada-at-acme'))
    assert.deepEqual(await rolesOf(subject), ['viewer'])
    const { name, email } = await identityOf(subject)
    assert.deepEqual({ name, email }, { name: 'Ada', email: 'ada@acme.example' })
  })

  test('is recorded in the log of the organization, with the provider', async () => {
    const subject = await subjectOf(await signIn('ada-at-acme', { idp_id: providerUid }))
    const events = await sealedEvents(platform.store, owner.organization)
    const signedIn = events.findLast(({ action }) => action === 'signed-in')
    assert.deepEqual([signedIn?.uid, signedIn?.group], [subject, owner.organization])
    const { signIn: origin } = JSON.parse(signedIn?.origin ?? '{}')
    assert.deepEqual(origin, { person: subject, provider: providerUid })
  })

  test('does not grant a removed role again', async () => {
    const subject = await subjectOf(await signIn('ada-at-acme', { idp_id: providerUid }))
    await platform.unbind(subject)
    assert.equal(await subjectOf(await signIn('ada-at-acme', { idp_id: providerUid })), subject)
    assert.deepEqual(await rolesOf(subject), [])
  })

  test('finds the provider only by the domain of a verified organization', async () => {
    const visitor = newVisitor()
    const page = await visitor.open((await begin(party)).url)
    const providerPage = await visitor.submitTo(page, '/organization', { organization: 'Acme.Example' })
    assert.ok(providerPage.url.startsWith(acme.issuer), providerPage.url)
    for (const organization of ['acme', 'nobody.example', '', 'x'.repeat(300), '0'.repeat(40)]) {
      const other = newVisitor()
      const form = await other.open((await begin(party)).url)
      const answer = await other.submitTo(form, '/organization', { organization })
      assert.equal(answer.status, 400)
      assert.match(answer.alert ?? '', /^The organization is not known here by this name/)
    }
  })

  test('trusts a provider only for addresses of its organization’s domain', async () => {
    for (const login of ['bob-at-acme', 'eve-at-acme', 'fay-at-acme'] as const) {
      const identity = await identityOf(await subjectOf(await signIn(login, { idp_id: providerUid })))
      assert.equal(identity.email, undefined)
      assert.equal(identity.emailUnverified, people[login].email)
    }
    const uid = await addProvider({}, await addVerifiedOrganization(platform, 'other.example'))
    const cyd = await identityOf(await subjectOf(await signIn('cyd-at-acme', { idp_id: uid })))
    assert.equal(cyd.email, undefined, 'the address belongs to the domain of another organization')
  })

  test('identifies people by their claim oid if the provider is configured so', async () => {
    const byOid = await addProvider({ correlationRule: 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID' })
    const subject = await subjectOf(await signIn('cyd-at-acme', { idp_id: byOid }))
    assert.equal(subject, userUid(acme.issuer, 'oid:object-of-cyd'))
    const { end } = await signIn('ada-at-acme', { idp_id: byOid })
    assert.match(end.alert ?? '', /did not work/)
  })

  test('works with PKCE and a secret together', async () => {
    const withPkce = await addProvider({ pkceEnabled: true })
    assert.ok(await subjectOf(await signIn('ada-at-acme', { idp_id: withPkce })))
  })

  test('accepts an invite during the sign-in, or changes nothing if the invite is invalid', async () => {
    const invite = await call('POST', `groupInvites/${owner.organization}`, {
      roleUid: builtInRole('editor').uid,
      ttl: '600s',
      email: 'ada@acme.example',
    })
    const code = String(invite.code)
    const otherPerson = await signIn('eve-at-acme', { idp_id: providerUid, invite: code })
    assert.match(otherPerson.end.alert ?? '', /is not the code of an invite that you can accept/)
    const subject = await subjectOf(await signIn('ada-at-acme', { idp_id: providerUid, invite: code }))
    assert.ok((await rolesOf(subject)).includes('editor'))
    const wrong = await signIn('new-at-acme', { idp_id: providerUid, invite: 'no such code' })
    assert.match(wrong.end.alert ?? '', /is not the code of an invite that you can accept/)
    assert.deepEqual(await identityOf(userUid(acme.issuer, 'new-at-acme')), {})
  })

  test('does not prevent workloads and people from exchanging tokens of the provider', async () => {
    const made = await call('POST', `identities/${owner.organization}`, {
      name: 'ada as a workload',
      claimMatch: { issuer: acme.issuer, subject: 'ada-at-acme', audience: clientId },
    })
    const options = { execute: [oidc.allowInsecureRequests] }
    const client = await oidc.discovery(new URL(acme.issuer), clientId, clientSecret, undefined, options)
    const verifier = oidc.randomPKCECodeVerifier()
    const url = oidc.buildAuthorizationUrl(client, {
      redirect_uri: `${platform.url}/oauth/callback`,
      scope: 'openid',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const visitor = new Visitor(acme.issuer)
    const end = await acme.signIn(visitor, await visitor.open(url.href), 'ada-at-acme')
    const { id_token: token } = await oidc.authorizationCodeGrant(client, new URL(end.url), {
      pkceCodeVerifier: verifier,
    })
    const exchange = (identity: unknown) =>
      fetch(`${platform.url}/sts/exchange?identity=${identity}`, {
        headers: { authorization: `Bearer ${token}` },
      })
    const answer = await exchange(made.uid)
    assert.equal(answer.status, 200)
    const { token: ours } = (await answer.json()) as { token: string }
    assert.equal(decodeJwt(ours).sub, made.uid)
    // The person can exchange it as well. It contains no address, so the new token is limited to the group of the provider.
    const ofPerson = await exchange(userUid(acme.issuer, 'ada-at-acme'))
    const { token: limited } = (await ofPerson.json()) as { token: string }
    assert.deepEqual(decodeJwt(limited).scopes, [owner.organization])
  })

  describe('an attacker', () => {
    test('cannot complete their own sign-in in the browser of a victim (login CSRF)', async () => {
      const attacker = new Visitor(platform.url)
      const begun = await begin(party, { idp_id: providerUid })
      const { url } = await attacker.submitTo(await attacker.open(begun.url), '/organization')
      // This visitor does not know stemmad, so it stops at the callback URL. The victim opens this URL.
      const attackerAtAcme = new Visitor(acme.issuer)
      const back = await acme.signIn(attackerAtAcme, await attackerAtAcme.open(url), 'bob-at-acme')
      assert.ok(back.url.startsWith(`${platform.url}/oauth/callback/${providerUid}?`), back.url)
      const victim = await newVisitor().open(back.url)
      assert.equal(victim.status, 400)
      assert.match(victim.alert ?? '', /begun in another browser/)
    })

    test('cannot change the parameters of the callback', async () => {
      const visitor = newVisitor()
      const begun = await begin(party, { idp_id: providerUid })
      await visitor.open(begun.url)
      for (const query of ['', 'state=x&code=y', `state=${'A'.repeat(200)}&code=y`, 'error=access_denied']) {
        for (const path of ['/oauth/callback', `/oauth/callback/${providerUid}`]) {
          const page = await visitor.open(`${path}?${query}`)
          assert.equal(page.status, 401)
          assert.match(page.alert ?? '', /did not work/)
        }
      }
    })
  })

  test('reports a provider that is unreachable or is this server itself', async () => {
    for (const issuer of ['http://127.0.0.1:1', platform.config.authUrl]) {
      const broken = await addProvider({ issuer, clientId: 'x' })
      const visitor = newVisitor()
      const before = await visitor.open((await begin(party, { idp_id: broken })).url)
      const page = before.status === 200 ? await visitor.submitTo(before, '/organization') : before
      assert.ok(page.status === 503 || page.status === 400, String(page.status))
      assert.ok(page.alert)
      assert.ok(!page.text.includes('127.0.0.1:1'))
    }
  })

  describe('a test of a provider', () => {
    before(async () => {
      for (const role of ['owner', 'viewer'])
        await platform.bind(await addAccount(platform, `${role}@test.example`), role, owner.organization)
    })
    /** A browser in which somebody with this role is signed in to the console. */
    async function consoleOf(role: string): Promise<Visitor> {
      const visitor = newVisitor()
      const form = await visitor.open('/console/sign-in')
      await visitor.submit(form, { email: `${role}@test.example`, password })
      return visitor
    }
    const testPath = (provider: string) => `/console/test-sign-in?provider=${encodeURIComponent(provider)}`

    test('shows the person and all claims, and signs nobody in', async () => {
      const visitor = await consoleOf('owner')
      const page = await visitor.open(testPath(providerUid))
      assert.ok(page.url.startsWith(acme.issuer), page.text)
      const end = await acme.signIn(visitor, page, 'gus-at-acme')
      assert.equal(end.title, 'The sign-in works')
      for (const text of ['Gus', 'gus@acme.example', 'gus-at-acme', acme.issuer, 'email_verified'])
        assert.ok(end.text.includes(text), `${text} in ${end.text}`)
      const gus = userUid(acme.issuer, 'gus-at-acme')
      assert.deepEqual(await identityOf(gus), {})
      assert.deepEqual(await rolesOf(gus), [])
      const states = await platform.store.query(sql`select 1 from sign_in_states where identity = ${gus}`)
      assert.deepEqual(states, [])
      const next = await visitor.open((await begin(party)).url)
      assert.equal(next.title, 'Continue?')
      assert.match(next.text, /owner@test\.example/)
      assert.doesNotMatch(next.text, /gus/i)
      // The result is shown once, and only in the browser that began the test.
      assert.equal((await newVisitor().open(end.url)).status, 400)
      assert.equal((await visitor.open(end.url)).title, 'The sign-in does not work')
    })

    test('says exactly what is wrong', async () => {
      const visitor = await consoleOf('owner')
      const wrongSecret = await addProvider({ clientSecret: 'wrong' })
      const failed = await acme.signIn(visitor, await visitor.open(testPath(wrongSecret)), 'gus-at-acme')
      assert.equal(failed.title, 'The sign-in does not work')
      assert.match(failed.text, /invalid_client/)
      assert.ok(!failed.text.includes('wrong</'), 'the secret is not shown')
      const internal = await addProvider({ issuer: 'https://10.0.0.1' })
      const refused = await visitor.open(testPath(internal))
      assert.equal(
        refused.alert,
        'the host of the issuer has no public address, or only addresses of this server',
      )
      assert.ok(!refused.text.includes('10.0.0.1'))
      const unreachable = await addProvider({ issuer: `${acme.issuer}/nowhere` })
      const page = await visitor.open(testPath(unreachable))
      assert.equal(page.title, 'The sign-in does not work')
      assert.equal(page.status, 503)
      assert.match(page.alert ?? '', /unexpected HTTP response status code/)
    })

    test('is only for people who may change the provider', async () => {
      const viewer = await consoleOf('viewer')
      for (const visitor of [viewer, newVisitor()])
        for (const provider of [providerUid, `${owner.organization}/0123456789abcdef`, 'x', ''])
          assert.equal((await visitor.open(testPath(provider))).status, 403)
    })

    test('has a state that no sign-in accepts, and accepts no state of a sign-in', async () => {
      const visitor = await consoleOf('owner')
      const target = await visitor.redirectOf(`${platform.url}${testPath(providerUid)}`)
      // The browser at the provider does not follow the redirect to the server, so the code stays valid.
      const atProvider = new Visitor(acme.issuer)
      const back = new URL((await acme.signIn(atProvider, await atProvider.open(target), 'gus-at-acme')).url)
      assert.ok(back.searchParams.has('code'), back.href)
      const other = newVisitor()
      const begun = await begin(party, { idp_id: providerUid })
      const page = await other.open(begun.url)
      const refused = await other.open(`${new URL(page.url).pathname}/callback${back.search}`)
      assert.match(refused.alert ?? '', /did not work/)
      const own = new URL(await other.submitOnly(page, '/organization')).searchParams.get('state') ?? ''
      const read = await other.open(`/console/tested-sign-in?code=x&state=${encodeURIComponent(own)}`)
      assert.equal(read.status, 400)
      // The code was valid all the time: the browser that began the test can redeem it.
      assert.equal((await visitor.open(back.href)).title, 'The sign-in works')
    })
  })
})
