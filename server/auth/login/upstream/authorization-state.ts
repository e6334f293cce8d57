// The `state` of an authorization request to a provider. It is encrypted and sent through the browser; the server
// does not store it.
import { openText, sealText } from '../../../crypto/secret.ts'
import type { Upstream } from './upstream.ts'
import { upstreamFailed } from './upstream.ts'

/** The flow that a browser continues when it returns: a sign-in at this server, or a test of the provider. */
export type Purpose =
  | {
      /** The uid of the sign-in at this server. */
      interaction: string
      test?: undefined
    }
  | {
      /** The digest of the secret of the browser that tests the provider (browser.ts). */
      test: string
      interaction?: undefined
    }

export type AuthorizationState = Purpose & {
  /** The uid of the provider. */
  provider: string
  /** Issuer and client id at the time of the request. If they have changed since then, the code is not redeemed. */
  issuer: string
  clientId: string
  redirectUri: string
  nonce: string
  /** The PKCE code verifier. */
  verifier: string
  /** In milliseconds since 1970. */
  expires: number
}

/** Encrypted states are bound to this text, so changing it would break sign-ins that are under way. */
const sealPurpose = 'journey to a provider'
export const stateLifetimeMs = 15 * 60_000

export const sealState = ({ sealer }: Upstream, state: AuthorizationState) =>
  sealText(sealer, sealPurpose, JSON.stringify(state))

export function openState({ sealer, now }: Upstream, sealed: string): AuthorizationState {
  let state: AuthorizationState
  try {
    state = JSON.parse(openText(sealer, sealPurpose, sealed)) as AuthorizationState
  } catch (cause) {
    throw upstreamFailed(cause)
  }
  if (state.expires <= now()) throw upstreamFailed(new Error('the state has expired'))
  return state
}

/** The flow that a browser continues. `url` is the redirect URI that the browser opened. */
export function purposeOf(upstream: Upstream, sealed: string, url: string): Purpose {
  const state = openState(upstream, sealed)
  if (state.redirectUri !== url)
    throw upstreamFailed(new Error('the redirect URI belongs to another provider'))
  return state
}
