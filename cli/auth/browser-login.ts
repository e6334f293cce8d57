// Sign-in by the browser of the person (RFC 8252): the server sends it back to a port of this machine, with a code
// that only this program can redeem (RFC 7636).
import * as oidc from 'openid-client'
import { openCallback } from './callback.ts'
import type { SignedIn, Wishes } from './provider.ts'
import { atProvider, inWords, scope, signedIn } from './provider.ts'

const minutes = 10

export function signInByBrowser(
  issuer: string,
  wishes: Wishes,
  show: (address: URL) => void,
): Promise<SignedIn> {
  return atProvider(issuer, async (provider) => {
    const state = oidc.randomState()
    const verifier = oidc.randomPKCECodeVerifier()
    const challenge = await oidc.calculatePKCECodeChallenge(verifier)
    const checks = { expectedState: state, pkceCodeVerifier: verifier, idTokenExpected: true }
    const callback = await openCallback(state, minutes, (answer) =>
      oidc.authorizationCodeGrant(provider, answer, checks).catch((error: unknown) => {
        // The page in the browser tells it as well.
        throw inWords(error, issuer)
      }),
    )
    try {
      const parameters = {
        ...{ redirect_uri: callback.redirectUri, state, scope },
        ...{ code_challenge: challenge, code_challenge_method: 'S256' },
        // Without it there is no refresh token (OpenID Connect Core, 11).
        prompt: 'consent',
      }
      show(oidc.buildAuthorizationUrl(provider, { ...wishes, ...parameters }))
      return signedIn(await callback.outcome, issuer)
    } finally {
      callback.close()
    }
  })
}
