import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Provider } from 'oidc-provider'
import { errors } from 'oidc-provider'
import { digestOf } from '../../crypto/digest.ts'
import { StoreError } from '../../store/store-error.ts'
import { expiredSignIn } from './error-response.ts'
import { redeemCode } from './redeem-code.ts'

describe('an authorization code of our own clients', () => {
  const [client, verifier] = ['console', 'a verifier']

  /** Redeems a valid code. Marking the code as used fails with this error. */
  function redeem(error: Error) {
    const code = {
      ...{ accountId: 'a person', clientId: client, codeChallenge: digestOf(verifier), isValid: true },
      consume: () => Promise.reject(error),
    }
    const provider = { AuthorizationCode: { find: async () => code } } as unknown as Provider
    return redeemCode(provider, new URLSearchParams({ code: 'x' }), { client, verifier })
  }

  test('is reported as expired if another request uses it at the same time', async () => {
    await assert.rejects(redeem(new errors.InvalidGrant('used')), { message: expiredSignIn().message })
  })

  test('is not reported as expired if the store fails', async () => {
    const failure = new StoreError('unavailable')
    await assert.rejects(redeem(failure), (error) => error === failure)
  })
})
