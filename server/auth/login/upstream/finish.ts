import * as oidc from 'openid-client'
import type { ProvidedPerson } from '../people.ts'
import type { Purpose } from './authorization-state.ts'
import { openState } from './authorization-state.ts'
import { configurationOf } from './configuration.ts'
import type { ClaimedGroups } from './groups.ts'
import { groupsOf } from './groups.ts'
import { externalIdOf, personOf } from './person.ts'
import type { Upstream } from './upstream.ts'
import { requireProvider, upstreamFailed } from './upstream.ts'

export type UpstreamResult = ProvidedPerson & { claimed: ClaimedGroups; claims: oidc.IDToken }

/** Redeems the code that a browser brings from a provider. */
export async function finishUpstream(
  upstream: Upstream,
  query: URLSearchParams,
  { interaction, test }: Purpose,
): Promise<UpstreamResult> {
  const sealed = query.get('state') ?? ''
  const state = openState(upstream, sealed)
  if (state.interaction !== interaction || state.test !== test)
    throw upstreamFailed(new Error('the state belongs to another sign-in'))
  const provider = await requireProvider(upstream, state.provider)
  const { pkceEnabled, issuer, clientId } = provider.configuration
  if (state.issuer !== issuer || state.clientId !== clientId)
    throw upstreamFailed(new Error('the provider was changed during the sign-in'))
  try {
    const configuration = await configurationOf(upstream, provider)
    const url = new URL(`${state.redirectUri}?${query}`)
    const tokens = await oidc.authorizationCodeGrant(configuration, url, {
      expectedState: sealed,
      expectedNonce: state.nonce,
      idTokenExpected: true,
      ...(pkceEnabled && { pkceCodeVerifier: state.verifier }),
    })
    const claims = tokens.claims() as oidc.IDToken // present, since idTokenExpected
    const person = personOf(provider, claims)
    return {
      ...{ person, provider: provider.uid, externalId: externalIdOf(provider, person) },
      ...{ claimed: groupsOf(provider, claims), claims },
    }
  } catch (cause) {
    throw upstreamFailed(cause)
  }
}
