// Sign-in with the browser of this machine (RFC 8252): the server redirects the browser to a local port with an
// authorization code, which only this process can redeem (PKCE, RFC 7636).
import * as oidc from 'openid-client'
import { startCallbackServer } from './callback-server.ts'
import type { SignInParameters, SignInResult } from './oidc-client.ts'
import { scope, signInResult, toFailure, withProvider } from './oidc-client.ts'

const timeoutMinutes = 10

/** `show` is called with the URL that the person must open. */
export function signInWithBrowser(
  issuer: string,
  parameters: SignInParameters,
  show: (url: URL) => void,
): Promise<SignInResult> {
  return withProvider(issuer, async (provider) => {
    const state = oidc.randomState()
    const verifier = oidc.randomPKCECodeVerifier()
    const challenge = await oidc.calculatePKCECodeChallenge(verifier)
    const checks = { expectedState: state, pkceCodeVerifier: verifier, idTokenExpected: true }
    const server = await startCallbackServer(state, timeoutMinutes, (url) =>
      oidc.authorizationCodeGrant(provider, url, checks).catch((error: unknown) => {
        // Converted here, since the page in the browser shows the message too.
        throw toFailure(error, issuer)
      }),
    )
    try {
      const url = oidc.buildAuthorizationUrl(provider, {
        // Required for a refresh token (OpenID Connect Core, section 11).
        prompt: 'consent',
        ...parameters,
        redirect_uri: server.redirectUri,
        state,
        scope,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      })
      show(url)
      return signInResult(await server.result, issuer)
    } finally {
      server.close()
    }
  })
}
