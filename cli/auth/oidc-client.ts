// Calls the server, which is an OpenID Provider, and converts its errors to failures of a command.
import * as oidc from 'openid-client'
import { exitCodes } from '../exit-codes.ts'
import { Failure, NotSignedIn } from '../failure.ts'
import type { Tokens } from '../token-store.ts'
import { requestTimeoutSeconds, unreachable } from './authorized-fetch.ts'

export const scope = 'openid email profile offline_access'

/** Optional parameters of the authorization request, such as an invite or a login hint. */
export type SignInParameters = Record<string, string>
export type SignInResult = { tokens: Tokens; name: string }

export async function withProvider<T>(
  issuer: string,
  work: (provider: oidc.Configuration) => Promise<T>,
): Promise<T> {
  try {
    const url = new URL(issuer)
    // Plain http is allowed only if the user has chosen an issuer with an http URL.
    const execute = url.protocol === 'http:' ? [oidc.allowInsecureRequests] : []
    const options = { execute, timeout: requestTimeoutSeconds }
    return await work(await oidc.discovery(url, 'stemma', {}, oidc.None(), options))
  } catch (error) {
    throw toFailure(error, issuer)
  }
}

export function signInResult(
  response: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
  issuer: string,
): SignInResult {
  const claims = response.claims()
  if (!claims) throw new Failure(`${issuer} returned no id token`)
  const name = typeof claims.email === 'string' ? claims.email : claims.sub
  return { tokens: { access: response.access_token, refresh: response.refresh_token }, name }
}

export function toFailure(error: unknown, issuer: string): unknown {
  if (error instanceof Failure) return error
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError)
    return oauthFailure(error.error, error.error_description, issuer)
  if (error instanceof oidc.ClientError) return clientFailure(error, issuer)
  return error instanceof TypeError && error.cause instanceof Error ? unreachable(issuer, error) : error
}

function oauthFailure(code: string, description: string | undefined, issuer: string): Failure {
  if (code === 'access_denied') return new Failure('the sign-in was cancelled')
  if (code === 'expired_token') return codeExpired()
  if (code === 'invalid_grant')
    return new NotSignedIn('the sign-in has ended or is not valid; run: stemma auth login')
  const exitCode = code === 'temporarily_unavailable' ? exitCodes.unavailable : exitCodes.failed
  return new Failure(`${issuer} returned an error: ${description ?? code}`, exitCode)
}

export const codeExpired = (): Failure => new Failure('the code expired before it was entered; start again')

function clientFailure(error: oidc.ClientError, issuer: string): Failure {
  const { cause, code } = error
  if (code === 'OAUTH_TIMEOUT') return new Failure(`${issuer} does not answer`, exitCodes.unavailable)
  if (cause instanceof Response && (cause.status === 429 || cause.status >= 500))
    return new Failure(
      `${issuer} is busy or has failed: HTTP ${cause.status}; try again later`,
      exitCodes.unavailable,
    )
  return new Failure(clientErrorMessage(error, issuer))
}

function clientErrorMessage({ message, cause }: oidc.ClientError, issuer: string): string {
  const actualIssuer = (cause as { body?: { issuer?: unknown } } | undefined)?.body?.issuer
  if (typeof actualIssuer === 'string')
    return `${issuer} names ${actualIssuer} as its issuer; if that is correct, use --issuer ${actualIssuer}`
  if (cause instanceof Response) return `${issuer} does not support sign-in: HTTP ${cause.status}`
  return `the response of ${issuer} is not valid: ${message}`
}
