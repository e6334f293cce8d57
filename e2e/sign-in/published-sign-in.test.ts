// Sign-in of published clients, by a test client that follows their documented protocol.
import assert from 'node:assert/strict'
import { createDecipheriv, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { verifyOrganization } from '@stemma/server/commands/verify.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import type { Door } from '@stemma/server/testing/doors.ts'
import { grpcDoor, restDoor } from '@stemma/server/testing/doors.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { decodeJwt } from 'jose'
import type { OrganizationProvider } from './organization-provider.ts'
import { clientId, clientSecret, startProvider } from './organization-provider.ts'
import { addAccount, password, startSignInPlatform } from './sign-in.ts'
import type { Page } from './visitor.ts'
import { Visitor } from './visitor.ts'

const ada = 'ada@example.com'
const redirect = 'http://localhost:8085/callback?token=true&error=true'

onEachStore('sign-in of published clients', (engine) => {
  let platform: Platform
  let identity: string
  let acme: OrganizationProvider
  let doors: Door[]
  before(async () => {
    platform = await startSignInPlatform(engine)
    identity = await addAccount(platform, ada)
    acme = await startProvider(`${platform.url}/oauth/callback`, {})
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
    await acme.close()
  })

  const signInPath = (query: Record<string, string>) => `/oauth?${new URLSearchParams(query)}`

  async function signIn(query: Record<string, string>, visitor = new Visitor(platform.url)): Promise<Page> {
    const page = await visitor.open(signInPath(query))
    return visitor.submit(page, { email: ada, password })
  }

  /** The query parameters with which the browser was redirected to the client. */
  const callbackParameters = (page: Page) => {
    assert.ok(page.url.startsWith('http://localhost:8085/callback?'), `${page.url} ${page.text}`)
    return Object.fromEntries(new URL(page.url).searchParams)
  }

  test('returns a token and, by default, no refresh token', async () => {
    const answer = callbackParameters(await signIn({ exit: 'redirect', redirect }))
    assert.deepEqual(Object.keys(answer), ['token'])
    const claims = decodeJwt(answer.token ?? '')
    assert.equal(claims.sub, identity)
    assert.equal(claims.iss, platform.config.authUrl)
    assert.deepEqual([claims.aud].flat(), [platform.config.baseUrl])
    assert.equal(claims.email, ada)
    const whoami = await fetch(`${platform.url}/auth/v1/ok`, {
      headers: { authorization: `Bearer ${answer.token}` },
    })
    assert.equal(whoami.status, 200)
  })

  test('returns a refresh token that the exchange accepts, if the client requests one', async () => {
    const answer = callbackParameters(
      await signIn({ exit: 'redirect', redirect, create_refresh_token: 'true' }),
    )
    const content = JSON.parse(Buffer.from(answer.refresh_token ?? '', 'base64').toString())
    assert.ok(content.exp > Date.now() / 1000)
    let refresh = answer.refresh_token
    for (const door of doors) {
      const { body, error } = await door.call(
        SecurityTokenService.method.exchangeRefreshToken,
        { aud: [platform.config.baseUrl] },
        refresh,
      )
      assert.ok(body, error?.message)
      const pair = body as { token: { token: string }; refreshToken: { token: string } }
      assert.equal(decodeJwt(pair.token.token).sub, identity)
      refresh = pair.refreshToken.token
    }
    const body = new URLSearchParams({ token: refresh ?? '', client_id: 'stemma' })
    const revoked = await fetch(`${platform.url}/oauth/revoke`, { method: 'POST', body })
    assert.equal(revoked.status, 200)
    for (const door of doors)
      assert.equal(
        (await door.call(SecurityTokenService.method.exchangeRefreshToken, {}, refresh)).error?.code,
        16,
      )
  })

  test('returns a token for the requested audiences and groups', async () => {
    const group = platform.owner.organization
    await platform.bind(identity, 'viewer', group)
    const { host } = new URL(platform.config.baseUrl)
    const audience = `${platform.config.baseUrl},${host}`
    for (const scope of [encodeURIComponent(group), 'acme']) {
      const { token = '' } = callbackParameters(await signIn({ exit: 'redirect', redirect, audience, scope }))
      assert.deepEqual(decodeJwt(token).aud, [platform.config.baseUrl, host])
      assert.deepEqual(decodeJwt(token).scopes, [group])
    }
    const foreign = callbackParameters(
      await signIn({ exit: 'redirect', redirect, audience: 'https://evil.example' }),
    )
    assert.equal(foreign.status_code, '400')
    assert.equal(foreign.token, undefined)
  })

  test('refuses a scope that is not a uid or the name of a group, and too many scopes', async () => {
    const signInWith = async (scopes: string[]) => {
      const query = new URLSearchParams([
        ['exit', 'redirect'],
        ['redirect', redirect],
      ])
      for (const scope of scopes) query.append('scope', encodeURIComponent(scope))
      const visitor = new Visitor(platform.url)
      const page = await visitor.open(`/oauth?${query}`)
      return callbackParameters(await visitor.submit(page, { email: ada, password }))
    }
    for (const scope of ['no-such-group', 'a\0b', 'x'.repeat(256), '']) {
      const { error = '', status_code } = await signInWith([scope])
      assert.match(error, /must be the uid of a group/, JSON.stringify(scope))
      assert.equal(status_code, '400')
    }
    const tooMany = await signInWith(Array.from({ length: 101 }, (_, at) => `g${at}`))
    assert.match(tooMany.error ?? '', /must name at most 100 groups/)
    assert.equal(tooMany.status_code, '400')
  })

  test('returns a token of another identity that the person may assume', async () => {
    const made = await fetch(`${platform.url}/iam/v2beta1/identities/${platform.owner.organization}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.owner.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: 'all users',
        claimMatch: { issuer: platform.config.authUrl, subjectPattern: '[0-9a-f]{40}' },
      }),
    })
    const { uid } = (await made.json()) as { uid: string }
    const query = { exit: 'redirect', redirect, identity: uid, create_refresh_token: 'true' }
    const answer = callbackParameters(await signIn(query))
    assert.equal(decodeJwt(answer.token ?? '').sub, uid)
    assert.equal(answer.refresh_token, undefined, 'only a person gets a refresh token')
    const other = callbackParameters(await signIn({ ...query, identity: platform.owner.identity }))
    assert.deepEqual([other.token, other.status_code], [undefined, '403'])
  })

  test('asks a signed-in person for confirmation', async () => {
    const visitor = new Visitor(platform.url)
    await signIn({ exit: 'redirect', redirect }, visitor)
    const page = await visitor.open(signInPath({ exit: 'redirect', redirect }))
    assert.equal(page.title, 'Continue?')
    assert.equal(
      decodeJwt(callbackParameters(await visitor.submitTo(page, '/continue')).token ?? '').sub,
      identity,
    )
    const again = await visitor.open(signInPath({ exit: 'redirect', redirect }))
    const cancelled = callbackParameters(await visitor.submitTo(again, '/cancel'))
    assert.deepEqual([cancelled.token, cancelled.status_code], [undefined, '403'])
    assert.ok(cancelled.error)
  })

  test('redirects only to loopback addresses', async () => {
    for (const elsewhere of [
      'https://evil.example/callback',
      'http://evil.example/',
      'http://localhost.evil.example/',
      'http://localhost@evil.example/',
      'http://127.0.0.1.nip.io/',
      'https://localhost:8085/callback',
      'javascript:alert(1)',
      '//evil.example',
      '',
    ]) {
      const page = await new Visitor(platform.url).open(signInPath({ exit: 'redirect', redirect: elsewhere }))
      assert.equal(page.status, 400, elsewhere)
      assert.match(page.alert ?? '', /redirect must be an http loopback address/)
    }
    const page = await new Visitor(platform.url).open(signInPath({ exit: 'elsewhere', redirect }))
    assert.equal(page.status, 400)
  })

  test('can be completed only in the browser that started it', async () => {
    const attacker = new Visitor(platform.url)
    const page = await attacker.open(signInPath({ exit: 'redirect', redirect }))
    const onward = await attacker.submitOnly(page, page.forms[0]?.action ?? '', { email: ada, password })
    const finish = await attacker.redirectOf(onward)
    assert.match(finish, /\/oauth\/finish\?code=/)
    const victim = await new Visitor(platform.url).open(finish)
    assert.equal(victim.status, 400)
  })

  describe('by the provider of an organization', () => {
    let providerUid: string
    before(async () => {
      const { organization, token } = await platform.addOrganization('acme.example')
      const made = await fetch(`${platform.url}/iam/v2beta1/identityProviders/${organization}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          name: 'acme',
          defaultRole: builtInRole('viewer').uid,
          oidc: { issuer: acme.issuer, clientId, clientSecret },
        }),
      })
      ;({ uid: providerUid } = (await made.json()) as { uid: string })
      assert.deepEqual(await orgCheck('acme.example'), [200, false], 'the organization is not verified yet')
      await verifyOrganization(platform.store, organization, { isVerified: true, now: Date.now() })
    })

    async function orgCheck(name: string): Promise<[number, unknown]> {
      const answer = await fetch(`${platform.url}/orgcheck?name=${name}`)
      return [answer.status, answer.status === 200 ? await answer.json() : undefined]
    }

    test('is possible for a verified organization, for which /orgcheck returns true', async () => {
      assert.deepEqual(await orgCheck('acme.example'), [200, true])
      assert.deepEqual(await orgCheck('nobody.example'), [200, false])
      assert.deepEqual(await orgCheck(''), [400, undefined])
    })

    test('registers an unknown person unless skip_registration is set', async () => {
      for (const idp_id of [providerUid, 'acme.example']) {
        const signInAtAcme = async (parameters: Record<string, string>) => {
          const visitor = new Visitor(platform.url, acme.issuer)
          const page = await visitor.open(signInPath({ exit: 'redirect', redirect, idp_id, ...parameters }))
          return callbackParameters(await acme.signIn(visitor, page, `new-${idp_id.length}`))
        }
        const refused = await signInAtAcme({ skip_registration: 'true' })
        assert.deepEqual([refused.token, refused.status_code], [undefined, '404'])
        assert.ok((await signInAtAcme({})).token)
        assert.ok((await signInAtAcme({ skip_registration: 'true' })).token, 'the person is registered now')
      }
    })
  })

  describe('a program on another machine', () => {
    /** The code with which the program asks for a token is its public key. */
    const keyPair = () => {
      const { publicKey, privateKey } = generateKeyPairSync('x25519')
      return { privateKey, code: String(publicKey.export({ format: 'jwk' }).x) }
    }

    test('fetches an encrypted token and exchanges it', async () => {
      const { code, privateKey } = keyPair()
      const get = (door: Door) => door.call(Auth.method.getHeadlessSession, { code })
      for (const door of doors) assert.equal((await get(door)).error?.code, 5)
      const visitor = new Visitor(platform.url)
      const page = await visitor.open(signInPath({ headless_code: code }))
      assert.match(page.text, /on another machine asks to be signed in as you/)
      assert.ok(page.text.includes(code.slice(0, 8)))
      const end = await visitor.submit(page, { email: ada, password })
      assert.equal(end.title, 'You are signed in')
      for (const door of doors) {
        const { body, error } = await get(door)
        assert.ok(body, error?.message)
        const token = decrypt(privateKey, body as { ecdhPublicKey: string; encryptedIdtoken: string })
        const exchanged = await door.call(SecurityTokenService.method.exchange, {}, token)
        assert.equal(decodeJwt(String(exchanged.body?.token)).sub, identity)
      }
    })

    test('needs the confirmation of the signed-in person', async () => {
      const { code } = keyPair()
      const visitor = new Visitor(platform.url)
      await signIn({ exit: 'redirect', redirect }, visitor)
      const page = await visitor.open(signInPath({ headless_code: code }))
      assert.equal(page.title, 'Continue?')
      assert.match(page.text, /Continue only if you started it/)
      const [door] = doors as [Door]
      assert.equal((await door.call(Auth.method.getHeadlessSession, { code })).error?.code, 5)
    })

    test('must send a public key', async () => {
      for (const code of ['x', 'A'.repeat(42), 'A'.repeat(43), '!'.repeat(43), `${'A'.repeat(43)}=`]) {
        const page = await new Visitor(platform.url).open(signInPath({ headless_code: code }))
        assert.equal(page.status, 400, code)
        for (const door of doors) {
          const { error } = await door.call(Auth.method.getHeadlessSession, { code })
          assert.equal(error?.code, 3, code)
        }
      }
    })

    function decrypt(
      privateKey: ReturnType<typeof keyPair>['privateKey'],
      session: { ecdhPublicKey: string; encryptedIdtoken: string },
    ): string {
      const x = Buffer.from(session.ecdhPublicKey, 'base64').toString()
      const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' })
      const key = diffieHellman({ privateKey, publicKey })
      const sealed = Buffer.from(session.encryptedIdtoken, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
      decipher.setAuthTag(sealed.subarray(-16))
      return decipher.update(sealed.subarray(12, -16)).toString() + decipher.final().toString()
    }
  })
})
