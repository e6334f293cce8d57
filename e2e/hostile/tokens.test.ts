// Invalid credentials get 401 over REST and code 16 over gRPC, even if the request is malformed.
// Only a valid token of an identity that does not exist is refused after the request is parsed.
import assert from 'node:assert/strict'
import type { JsonWebKey } from 'node:crypto'
import { createHmac, createPublicKey, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { JWTPayload } from 'jose'
import { SignJWT } from 'jose'
import { Code } from '../../server/aip/code.ts'
import type { TokenAlgorithm } from '../../server/auth/keys/signing-key.ts'
import { sql } from '../../server/store/sql.ts'
import type { Engine } from '../../server/testing/stores.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { AttackedPlatform } from './hostile.ts'
import { assertRefused, assertRestRefused, startAttackedPlatform } from './hostile.ts'

const groups = '/iam/v2beta1/groups'
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const now = () => Math.floor(Date.now() / 1000)

// Tokens are verified above the store, so each algorithm is tested on one store.
onEachStore('hostile credentials are refused', (engine) =>
  attack(engine, engine === 'sqlite' ? 'RS256' : 'ES256'),
)

function attack(engine: Engine, algorithm: TokenAlgorithm): void {
  let attacked: AttackedPlatform
  before(async () => {
    attacked = await startAttackedPlatform(engine, ['--token-algorithm', algorithm])
  })
  after(() => attacked.stop())

  const claims = (): JWTPayload => ({
    iss: attacked.platform.config.authUrl,
    aud: attacked.platform.config.baseUrl,
    sub: attacked.platform.owner.identity,
    iat: now(),
    nbf: now(),
    exp: now() + 3600,
    jti: randomUUID(),
  })
  const header = () => ({ alg: algorithm, typ: 'at+jwt', kid: attacked.platform.keys.signing().kid })

  /** A token that is signed with the platform's key, so that only the changed claim makes it invalid. */
  const signed = (changes: Record<string, unknown> = {}, headerChanges: Record<string, unknown> = {}) => {
    const payload = Object.entries({ ...claims(), ...changes }).filter(([, value]) => value !== undefined)
    const head = Object.entries({ ...header(), ...headerChanges }).filter(([, value]) => value !== undefined)
    return new SignJWT(Object.fromEntries(payload))
      .setProtectedHeader(Object.fromEntries(head) as { alg: string })
      .sign(attacked.platform.keys.signing().privateKey, { crit: { 'x-unknown': true } })
  }

  async function assertRefusedEverywhere(authorization: string, what = authorization): Promise<void> {
    const headers = { authorization }
    // An invalid body is not reported to an unauthenticated caller.
    const answer = await attacked.rest({ verb: 'POST', target: groups, headers, body: 'no JSON' })
    assert.equal(answer.status, 401, `${what}: ${answer.body}`)
    await assertValidRequestsRefused(authorization, what)
  }

  /** Sends only well-formed requests: the identity is looked up after a request is parsed, so a malformed one gets 400. */
  async function assertValidRequestsRefused(authorization: string, what: string): Promise<void> {
    const headers = { authorization }
    const answers = [
      await attacked.rest({ target: groups, headers }),
      await attacked.rest({ target: `${groups}/${attacked.group}`, headers }),
      await attacked.rest({ verb: 'DELETE', target: `${groups}/${attacked.group}`, headers }),
      await attacked.rest({ verb: 'POST', target: groups, headers, body: '{"name":"x"}' }),
    ]
    for (const answer of answers) {
      try {
        assertRestRefused(answer, Code.UNAUTHENTICATED)
        assert.match(
          answer.headers.get('www-authenticate') ?? '',
          /^Bearer realm="http:\/\/stemma\.test", error="invalid_token"(, error_description="[^"\\]+")?$/,
        )
      } catch (error) {
        throw new Error(`${what}: ${answer.status} ${answer.body}`, { cause: error })
      }
    }
    // gRPC allows only printable ASCII in the value of a header, so other values are sent only over REST.
    if (!/[^\x20-\x7e]/.test(authorization)) {
      assertRefused(await attacked.grpc('ListGroups', Buffer.of(), headers), Code.UNAUTHENTICATED)
    }
  }

  test('missing credentials get a challenge without an error code', async () => {
    const answer = await fetch(attacked.platform.url + groups)
    assert.equal(answer.status, 401)
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="http://stemma.test"')
    assert.match(await answer.text(), /^\{"code":16,/)
  })

  test('headers without a usable token', async () => {
    const { token } = attacked.platform.owner
    for (const value of [
      'Bearer',
      'Bearer x',
      'Bearer a.b.c',
      'Bearer ...',
      'Bearer a.b.c.d.e',
      `Basic ${Buffer.from('user:password').toString('base64')}`,
      `Token ${token}`,
      token,
      `Bearer ${token} ${token}`,
      `Bearer ${token},Bearer ${token}`,
      `Bearer "${token}"`,
      `Bearer ${token}; charset=utf-8`,
      `Bearer\t${token}`,
      `Bearer=${token}`,
      'Bearer é',
      `Bearer ${'a'.repeat(7000)}`,
      'null',
      'undefined',
      '{"Bearer":1}',
    ])
      await assertRefusedEverywhere(value)
    await attacked.assertUnchanged()
  })

  test('the scheme is case-insensitive', async () => {
    for (const scheme of ['bearer', 'BEARER', 'Bearer ']) {
      const headers = { authorization: `${scheme} ${attacked.platform.owner.token}` }
      assert.equal((await attacked.rest({ target: groups, headers })).status, 200)
    }
  })

  test('tokens that are not signed with our key', async () => {
    const head = header()
    const payload = encode(claims())
    const { kid, publicJwk } = attacked.platform.keys.signing()
    const publicKey = createPublicKey({ key: publicJwk as JsonWebKey, format: 'jwk' })
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const stranger =
      algorithm === 'RS256'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const byStranger = (text: string) =>
      sign('sha256', Buffer.from(text), { key: stranger.privateKey, dsaEncoding: 'ieee-p1363' })
    const jwk = stranger.publicKey.export({ format: 'jwk' })
    const otherAlgorithm = algorithm === 'RS256' ? 'ES256' : 'RS256'
    const [ownerHead, ownerPayload, ownerSignature] = attacked.platform.owner.token.split('.') as [
      string,
      string,
      string,
    ]
    const foreignToken = (changes: object) => {
      const text = `${encode({ ...head, ...changes })}.${payload}`
      return `${text}.${byStranger(text).toString('base64url')}`
    }
    const hmacToken = (secret: string) => {
      const text = `${encode({ ...head, alg: 'HS256' })}.${payload}`
      return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
    }
    const tokens: Record<string, string> = {
      'alg none': `${encode({ ...head, alg: 'none' })}.${payload}.`,
      'alg None': `${encode({ ...head, alg: 'None' })}.${payload}.`,
      'alg none with a signature': `${encode({ ...head, alg: 'none' })}.${payload}.${ownerSignature}`,
      'no signature': `${ownerHead}.${ownerPayload}.`,
      'a signature of zeros': `${ownerHead}.${ownerPayload}.${Buffer.alloc(64).toString('base64url')}`,
      'HS256 with the public key as JSON': hmacToken(JSON.stringify(publicJwk)),
      'HS256 with the public key as PEM': hmacToken(pem),
      'HS256 with the key id': hmacToken(kid),
      'HS256 with an empty secret': hmacToken(''),
      'the key of a stranger': foreignToken({}),
      'the key of a stranger in the header': foreignToken({ jwk }),
      'the key of a stranger at a URL': foreignToken({
        jku: 'http://127.0.0.1:1/keys',
        x5u: 'file:///etc/passwd',
      }),
      'another algorithm': foreignToken({ alg: otherAlgorithm }),
      'another algorithm with our signature': `${encode({ ...head, alg: otherAlgorithm })}.${ownerPayload}.${ownerSignature}`,
      'an unknown key id': foreignToken({ kid: 'unknown' }),
      'no key id': foreignToken({ kid: undefined }),
      'a key id with a path': foreignToken({ kid: '../../../../etc/passwd' }),
      'a key id with SQL': foreignToken({ kid: "' or '1'='1" }),
      'a key id with NUL': foreignToken({ kid: '\0' }),
      'a key id that is no text': foreignToken({ kid: { $ne: 1 } }),
      'a long key id': foreignToken({ kid: 'k'.repeat(5000) }),
      'another payload': `${ownerHead}.${payload}.${ownerSignature}`,
      'another header': `${encode({ ...head, more: 1 })}.${ownerPayload}.${ownerSignature}`,
      'a cut signature': attacked.platform.owner.token.slice(0, -4),
      'a longer signature': `${attacked.platform.owner.token}AAAA`,
      'a header that is no object': `${encode([algorithm])}.${payload}.${ownerSignature}`,
      'a header that is no JSON': `${Buffer.from('{').toString('base64url')}.${payload}.${ownerSignature}`,
    }
    for (const [what, token] of Object.entries(tokens)) await assertRefusedEverywhere(`Bearer ${token}`, what)
    await attacked.assertUnchanged()
  })

  test('tokens that are signed with our key but have a wrong claim or header', async () => {
    const { identity } = attacked.platform.owner
    const unknownHeader = { 'x-unknown': true }
    for (const headerChanges of [{}, unknownHeader]) {
      const headers = { authorization: `Bearer ${await signed({}, headerChanges)}` }
      assert.equal((await attacked.rest({ target: groups, headers })).status, 200)
    }
    const tokens = {
      // RFC 7515, 4.1.11.
      'an unknown critical header': await signed({}, { ...unknownHeader, crit: ['x-unknown'] }),
      'wrong type': await signed({}, { typ: 'JWT' }),
      'no type': await signed({}, { typ: undefined }),
      'another audience': await signed({ aud: 'http://elsewhere.test' }),
      'no audience': await signed({ aud: undefined }),
      'another issuer': await signed({ iss: 'http://elsewhere.test' }),
      'no issuer': await signed({ iss: undefined }),
      'no expiry': await signed({ exp: undefined }),
      'an expiry that is no number': await signed({ exp: 'never' }),
      'no time of issue': await signed({ iat: undefined }),
      'no subject': await signed({ sub: undefined }),
      'a subject that is no uid': await signed({ sub: 'admin' }),
      'a subject with SQL': await signed({ sub: `${identity}' or '1'='1` }),
    }
    const hourMs = 3600_000
    const expired = await attacked.platform.tokenOf(identity, Date.now() - 2 * hourMs)
    const fromFuture = await attacked.platform.tokenOf(identity, Date.now() + 2 * hourMs)
    for (const [what, token] of Object.entries(tokens)) await assertRefusedEverywhere(`Bearer ${token}`, what)
    for (const sub of ['a'.repeat(40), attacked.platform.owner.organization, attacked.group])
      await assertValidRequestsRefused(`Bearer ${await signed({ sub })}`, `identity ${sub}`)
    await assertRefusedEverywhere(`Bearer ${expired}`, 'expired')
    await assertRefusedEverywhere(`Bearer ${fromFuture}`, 'from the future')
    const headers = { authorization: `Bearer ${expired}` }
    assert.match((await attacked.rest({ target: groups, headers })).body, /expired/)
    await attacked.assertUnchanged()
  })

  test('a subject that is a list', async () => {
    const token = await signed({ sub: [attacked.platform.owner.identity] })
    await assertRefusedEverywhere(`Bearer ${token}`, 'a subject that is a list')
  })

  test('a token is invalid as soon as its identity is deleted', async () => {
    const { platform } = attacked
    const deleted = await platform.addIdentity(platform.owner.organization)
    const headers = { authorization: `Bearer ${deleted.token}` }
    assert.equal((await attacked.rest({ target: groups, headers })).status, 200)
    await platform.store.write(function* () {
      yield sql`delete from identities where uid = ${deleted.identity}`
    })
    await assertValidRequestsRefused(`Bearer ${deleted.token}`, 'deleted identity')
  })

  test('a valid token still works', async () => {
    assert.equal((await attacked.rest({ target: groups })).status, 200)
    assert.equal(await attacked.grpc('ListGroups', Buffer.of()), undefined)
  })
}
