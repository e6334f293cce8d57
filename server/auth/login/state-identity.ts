// The person that a state of oidc-provider belongs to.
import type { AdapterPayload } from 'oidc-provider'
import type { Payload } from './expiring-states.ts'

type Login = { accountId: string; ts?: number; acr?: string }

/** The result of a sign-in that oidc-provider has not processed yet. */
export const loginOf = ({ result }: Payload) => (result as { login?: Login } | undefined)?.login

/** Undefined for a state of a visitor who has not signed in. */
export function identityOf(payload: Payload): string | undefined {
  const { accountId, session } = payload as AdapterPayload
  return accountId ?? loginOf(payload)?.accountId ?? session?.accountId
}

/**
 * The uid of the identity provider that the person signed in through. oidc-provider passes it on from the sign-in to
 * sessions, codes and refresh tokens as `acr`. Clients do not see it, because no `acrValues` are configured.
 */
export function providerOf(payload: Payload): string | undefined {
  const { acr, session } = payload as AdapterPayload
  return acr ?? loginOf(payload)?.acr ?? session?.acr
}
