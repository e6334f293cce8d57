// The token exchange at the OAuth token endpoint (RFC 8693), with hand-written requests and with openid-client.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { rawClient } from '@stemma/server/testing/raw-http.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { decodeJwt } from 'jose'
import * as oidc from 'openid-client'
import type { ForeignIssuer } from './foreign-issuer.ts'
import { startIssuer } from './foreign-issuer.ts'
import { relyingParty, startSignInPlatform } from './sign-in.ts'

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange'
const tokenType = (name: string) => `urn:ietf:params:oauth:token-type:${name}`

onEachStore('the token endpoint', (engine) => {
  let issuer: ForeignIssuer
  let platform: Platform
  let identity: string
  before(async () => {
    issuer = await startIssuer('ES256')
    platform = await startSignInPlatform(engine)
    const { organization, token } = platform.owner
    const made = await fetch(`${platform.url}/iam/v2beta1/identities/${organization}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'ci', claimMatch: { issuer: issuer.issuer, subject: 'robot' } }),
    })
    ;({ uid: identity } = (await made.json()) as { uid: string })
    await platform.bind(identity, 'viewer', organization)
  })
  after(async () => {
    await platform.stop()
    await issuer.close()
  })

  const sign = () => issuer.sign({ aud: platform.config.authUrl })

  async function requestToken(parameters: Record<string, string | string[]>, { url } = platform) {
    const body = new URLSearchParams({ grant_type: grantType, subject_token_type: tokenType('jwt') })
    for (const [name, values] of Object.entries(parameters)) {
      body.delete(name)
      for (const value of [values].flat()) body.append(name, value)
    }
    const answer = await fetch(`${url}/oauth/token`, { method: 'POST', body })
    const json = (await answer.json()) as Record<string, string | number>
    return { status: answer.status, headers: answer.headers, json }
  }

  test('exchanges a token as RFC 8693 says', async () => {
    const { status, headers, json } = await requestToken({ subject_token: await sign(), identity })
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.deepEqual(Object.keys(json), ['access_token', 'issued_token_type', 'token_type', 'expires_in'])
    assert.equal(json.issued_token_type, tokenType('access_token'))
    assert.equal(json.token_type, 'Bearer')
    assert.ok(Number(json.expires_in) > 3500 && Number(json.expires_in) <= 3600)
    const groups = await fetch(`${platform.url}/iam/v2beta1/groups`, {
      headers: { authorization: `Bearer ${json.access_token}` },
    })
    assert.equal(groups.status, 200)
  })

  test('works with openid-client', async () => {
    const party = await relyingParty(platform.url)
    assert.ok(party.serverMetadata().grant_types_supported?.includes(grantType))
    const answer = await oidc.genericGrantRequest(party, grantType, {
      ...{ subject_token: await sign(), subject_token_type: tokenType('id_token'), identity },
    })
    assert.equal(decodeJwt(answer.access_token).sub, identity)
  })

  test('limits the token to groups, capabilities and an audience', async () => {
    const { organization } = platform.owner
    const { host } = new URL(platform.config.baseUrl)
    const { json } = await requestToken({
      ...{ subject_token: await sign(), identity, scopes: organization, scope: 'groups.list identity.list' },
      audience: [platform.config.baseUrl, host],
    })
    const claims = decodeJwt(String(json.access_token))
    assert.deepEqual(claims.scopes, [organization])
    assert.deepEqual(claims.cap, ['groups.list', 'identity.list'])
    assert.deepEqual(claims.aud, [platform.config.baseUrl, host])
  })

  test('returns the error codes of RFC 6749 and RFC 8693', async () => {
    const good = { subject_token: await sign(), identity }
    const clientToken = await issuer.sign({ aud: 'client' })
    for (const [parameters, error] of [
      [{ subject_token: '' }, 'invalid_request'],
      [{ subject_token: 'nonsense' }, 'invalid_request'],
      [{ subject_token_type: tokenType('saml2') }, 'invalid_request'],
      [{ requested_token_type: tokenType('refresh_token') }, 'invalid_request'],
      [{ actor_token: 'x' }, 'invalid_request'],
      [{ identity: '0'.repeat(40) }, 'invalid_request'],
      [{ subject_token: clientToken, identity: '', identity_provider: 'a\0b' }, 'invalid_request'],
      [{ audience: 'https://evil.example' }, 'invalid_target'],
      [{ resource: 'https://evil.example' }, 'invalid_target'],
      [{ scope: 'everything' }, 'invalid_scope'],
      [{ scopes: 'not a uid' }, 'invalid_scope'],
      [{ grant_type: 'password' }, 'unsupported_grant_type'],
    ] as const) {
      const { status, json } = await requestToken({
        ...good,
        ...parameters,
        ...('grant_type' in parameters && { client_id: 'stemma' }),
      })
      assert.equal(status, 400, JSON.stringify(json))
      assert.equal(json.error, error, JSON.stringify([parameters, json]))
      assert.ok(json.error_description)
    }
  })

  test('names the parameter that contains an unknown capability', async () => {
    const good = { subject_token: await sign(), identity }
    for (const [parameter, value] of [
      ['scope', 'groups.list openid'],
      ['cap', 'openid'],
    ] as const) {
      const { json } = await requestToken({ ...good, [parameter]: value })
      assert.equal(json.error, 'invalid_scope')
      const start = `the ${parameter} must be names of capabilities such as groups.list, not "openid"`
      assert.equal(String(json.error_description).slice(0, start.length), start)
    }
  })

  test('refuses bodies that are not forms, and forms that are too long', async () => {
    const post = (body: string, type: string) =>
      fetch(`${platform.url}/oauth/token`, { method: 'POST', body, headers: { 'content-type': type } })
    assert.equal((await post('{}', 'application/json')).status, 415)
    const long = `grant_type=${grantType}&subject_token=${'x'.repeat(100_000)}`
    assert.equal((await post(long, 'application/x-www-form-urlencoded')).status, 413)
    // The server closes the connection. Otherwise, the next request on it would wait for the rest of
    // the form, which is never read.
    const client = await rawClient(Number(new URL(platform.url).port))
    const body = 'x'.repeat(1_000_000)
    const headers = `content-type: application/x-www-form-urlencoded\r\ncontent-length: ${body.length}`
    client.send(`POST /oauth/token HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n\r\n${body}`)
    const { status, headers: answered } = await client.response()
    assert.deepEqual([status, answered.get('connection')], [413, 'close'])
    assert.equal((await client.remainingBytes()).length, 0)
  })

  test('answers an empty request of any content type with a client error', async () => {
    const client = await rawClient(Number(new URL(platform.url).port))
    for (const type of ['application/x-www-form-urlencoded', 'application/json', '']) {
      const header = type && `content-type: ${type}\r\n`
      for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/device']) {
        client.send(`POST ${path} HTTP/1.1\r\nhost: localhost\r\n${header}\r\n`)
        const { status } = await client.response()
        assert.ok(status >= 400 && status < 500, `${path} ${type} ${status}`)
      }
    }
    client.close()
  })

  test('says that a form is too large, and not that the server is unavailable', async () => {
    const { status, json } = await requestToken({ subject_token: 'x'.repeat(17_000) })
    assert.equal(status, 413)
    assert.equal(json.error, 'invalid_request')
    assert.match(String(json.error_description), /at most 16384 bytes/)
  })

  test('throttles after too many failures', async (context) => {
    const strict = await startSignInPlatform(engine, [], { maxFailedExchanges: 3 })
    context.after(() => strict.stop())
    const fail = () => requestToken({ subject_token: 'nonsense' }, strict)
    for (let count = 0; count < 3; count++) assert.equal((await fail()).status, 400)
    const last = await fail()
    assert.equal(last.status, 429)
    assert.match(last.headers.get('retry-after') ?? '', /^\d+$/)
    assert.equal(last.json.error, 'temporarily_unavailable')
  })
})
