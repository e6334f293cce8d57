// Verifiers that know only the URL of the issuer, and accept only the algorithms that it announces.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { openKeyRing } from '@stemma/server/auth/keys/key-ring.ts'
import { mintToken } from '@stemma/server/auth/tokens/mint.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { decodeProtectedHeader, errors, jwtVerify } from 'jose'
import { discover, discoveredKeys } from './discovered-keys.ts'
import { addAccount, signIn, startSignInPlatform } from './sign-in.ts'

const ada = 'ada@example.com'

/** Verifies a token like a program that follows discovery. */
async function verify({ url }: Platform, token: string, audience: string) {
  const { issuer, id_token_signing_alg_values_supported: algorithms } = await discover(url)
  return jwtVerify(token, await discoveredKeys(url), { issuer, algorithms, audience })
}

onEachStore('a verifier that follows discovery', (engine) => {
  for (const [algorithm, announced] of [
    ['RS256', ['RS256']],
    ['ES256', ['RS256', 'ES256']],
  ] as const)
    test(`accepts access tokens and id tokens with ${algorithm}`, async () => {
      const platform = await startSignInPlatform(engine, ['--token-algorithm', algorithm])
      try {
        const identity = await addAccount(platform, ada)
        const { tokens } = await signIn(platform, ada)
        assert.deepEqual((await discover(platform.url)).id_token_signing_alg_values_supported, announced)
        assert.equal(decodeProtectedHeader(tokens.access_token).alg, algorithm)
        const { baseUrl } = platform.config
        for (const [token, audience] of [
          [tokens.access_token, baseUrl],
          [platform.owner.token, baseUrl],
          [tokens.id_token ?? '', 'stemma'],
        ] as const) {
          const { payload } = await verify(platform, token, audience)
          assert.equal(payload.sub, token === platform.owner.token ? platform.owner.identity : identity)
        }
        await assert.rejects(
          verify(platform, tokens.access_token, 'another'),
          errors.JWTClaimValidationFailed,
        )
      } finally {
        await platform.stop()
      }
    })

  test('accepts tokens of an ES256 key that is still valid after a change to RS256', async () => {
    const platform = await startSignInPlatform(engine)
    try {
      const { store, secret, owner, tokenOf, config } = platform
      const { authUrl, baseUrl } = config
      const sources = { now: Date.now, random: randomBytes }
      const keys = await openKeyRing({ store, secret, tokenAlgorithm: 'ES256', ...sources })
      const old = await mintToken(
        { keys, authUrl, ...sources },
        { identity: owner.identity, audience: baseUrl },
      )
      // The first call with the unknown key id makes the server read its keys again.
      const answer = await fetch(`${platform.url}/auth/v1/ok`, {
        headers: { authorization: `Bearer ${old}` },
      })
      assert.equal(answer.status, 200)
      for (const token of [old, await tokenOf(owner.identity)])
        assert.equal((await verify(platform, token, baseUrl)).payload.sub, owner.identity)
    } finally {
      await platform.stop()
    }
  })
})
