// People sign in: with a password, with the session of their browser, and through a relying party that others wrote.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { peopleOf } from '@stemma/server/app.ts'
import { setPassword, vouchFor } from '@stemma/server/auth/login/accounts.ts'
import { hashPassword } from '@stemma/server/auth/login/passwords.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/platform.ts'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { password, signIn, startSignIn } from './sign-in.ts'

const ada = 'ada@example.com'

onEachStore('sign-in with a password', (engine) => {
  let platform: Platform
  let identity: string
  before(async () => {
    platform = await startSignIn(engine)
    const hash = await hashPassword(password)
    identity = await platform.store.write(function* () {
      const uid = yield* vouchFor(peopleOf(Date.now), platform.config.authUrl, ada)
      yield* setPassword(uid, hash)
      return uid
    })
  })
  after(() => platform.stop())

  const whoAmI = async (token: string) => {
    const answer = await fetch(`${platform.url}/auth/v1/ok`, {
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(answer.status, 200, await answer.clone().text())
    return (await answer.json()) as { subject: string; email: string }
  }

  test('gives a token that the API takes, and an id token that others verify', async () => {
    const { tokens, end } = await signIn(platform, ada)
    assert.ok(end.url.startsWith('http://127.0.0.1:45678/callback?'), end.text)
    assert.deepEqual(await whoAmI(tokens.access_token).then(({ subject, email }) => ({ subject, email })), {
      subject: identity,
      email: ada,
    })
    assert.equal(tokens.claims()?.sub, identity)
    assert.equal(tokens.claims()?.email, ada)
    const header = decodeProtectedHeader(tokens.access_token)
    assert.deepEqual([header.typ, header.alg], ['at+jwt', 'ES256'])
    assert.equal(decodeProtectedHeader(tokens.id_token ?? '').alg, 'RS256')
    const claims = decodeJwt(tokens.access_token)
    assert.equal(claims.aud, platform.config.baseUrl)
    assert.equal(claims.exp, (claims.iat ?? 0) + 3600)
  })
})
