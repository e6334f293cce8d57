// The person that a state of oidc-provider belongs to.
import type { AdapterPayload } from 'oidc-provider'
import type { Payload } from './expiring-states.ts'

type Login = { accountId: string; ts?: number }

/** The result of a sign-in that oidc-provider has not processed yet. */
export const loginOf = ({ result }: Payload) => (result as { login?: Login } | undefined)?.login

/** Undefined for a state of a visitor who has not signed in. */
export function identityOf(payload: Payload): string | undefined {
  const { accountId, session } = payload as AdapterPayload
  return accountId ?? loginOf(payload)?.accountId ?? session?.accountId
}
