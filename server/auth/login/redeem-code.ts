// Redeems the authorization codes of our own clients, without a request to the token endpoint.
import type { Provider } from 'oidc-provider'
import { errors } from 'oidc-provider'
import { Code } from '../../aip/code.ts'
import { StatusError } from '../../aip/errors.ts'
import { digestOf } from '../../crypto/digest.ts'
import type { SignIn } from '../../wire/caller.ts'
import { provesSecondFactor } from '../second-factors/requirement.ts'
import { browserSessionId } from '../sign-in-records.ts'
import { expiredSignIn } from './error-response.ts'
import { signInIdOf } from './expiring-states.ts'
import { notRegistered } from './sign-in/interaction.ts'

export type RedeemedCode = {
  signIn: SignIn
  /** The secret id of the grant of the sign-in in oidc-provider. */
  grant: string
  /** The session at the sign-in pages in which the code was issued (`browserSessionId`). Undefined without one. */
  browserSession?: string | undefined
}

/** `verifier` is the PKCE code verifier, which proves that the code belongs to this sign-in. */
export async function redeemCode(
  provider: Provider,
  query: URLSearchParams,
  { client, verifier }: { client: string; verifier: string },
): Promise<RedeemedCode> {
  const error = query.get('error')
  if (error !== null) {
    const status = error === notRegistered ? Code.NOT_FOUND : Code.PERMISSION_DENIED
    throw new StatusError(status, query.get('error_description') ?? error)
  }
  const code = await provider.AuthorizationCode.find(query.get('code') ?? '')
  const isOfThisSignIn = code?.clientId === client && code.codeChallenge === digestOf(verifier)
  if (!code?.accountId || !isOfThisSignIn || !code.isValid) throw expiredSignIn()
  await code.consume().catch((error: unknown) => {
    throw error instanceof errors.InvalidGrant ? expiredSignIn() : error
  })
  const grant = code.grantId ?? ''
  // If the time of the sign-in is unknown, 0 is used. The token is then not valid if the person has ever
  // signed out everywhere.
  const signIn = {
    ...{ person: code.accountId, signedInAt: code.authTime ?? 0, id: signInIdOf(grant) },
    ...{ ...(code.acr && { provider: code.acr }), hasSecondFactor: provesSecondFactor(code.amr) },
  }
  return { signIn, grant, browserSession: code.sessionUid && browserSessionId(code.sessionUid) }
}
