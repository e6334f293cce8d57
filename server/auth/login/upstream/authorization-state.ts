// The `state` of an authorization request to a provider. The browser carries it, encrypted; nothing is stored.
import { openText, sealText } from '../../../crypto/secret.ts'
import type { Upstream } from './upstream.ts'
import { upstreamFailed } from './upstream.ts'

export type AuthorizationState = {
  /** The uid of the sign-in at this server. */
  interaction: string
  /** The uid of the provider. */
  provider: string
  /** Issuer and client when the request was made. If the provider was changed since, the code is not redeemed. */
  issuer: string
  clientId: string
  redirectUri: string
  nonce: string
  /** The PKCE code verifier. */
  verifier: string
  /** In milliseconds. */
  expires: number
}

/** Part of the encryption, so it cannot change without breaking sign-ins that are under way. */
const purpose = 'journey to a provider'
export const stateLifetime = 15 * 60_000

export const sealState = ({ sealer }: Upstream, state: AuthorizationState) =>
  sealText(sealer, purpose, JSON.stringify(state))

export function openState({ sealer, now }: Upstream, sealed: string): AuthorizationState {
  let state: AuthorizationState
  try {
    state = JSON.parse(openText(sealer, purpose, sealed)) as AuthorizationState
  } catch (cause) {
    throw upstreamFailed(cause)
  }
  if (state.expires <= now()) throw upstreamFailed(new Error('the state has expired'))
  return state
}

/** The sign-in that a browser returns to. `url` is the redirect URI that it was sent to. */
export function interactionOf(upstream: Upstream, sealed: string, url: string): string {
  const { interaction, redirectUri } = openState(upstream, sealed)
  if (redirectUri !== url) throw upstreamFailed(new Error('the redirect URI belongs to another provider'))
  return interaction
}
