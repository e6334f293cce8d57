// The OpenID Provider of a server, as its client; and what goes wrong there, in words.
import * as oidc from 'openid-client'
import { patience, unreachable } from '../call.ts'
import type { Tokens } from '../token-store.ts'
import { NotSignedIn, Refused, UsageError } from '../usage.ts'

export const scope = 'openid email profile offline_access'

/** What a sign-in may say besides: which invite, whose provider, which address. */
export type Wishes = Record<string, string>
export type SignedIn = { tokens: Tokens; who: string }

export async function atProvider<T>(
  issuer: string,
  act: (provider: oidc.Configuration) => Promise<T>,
): Promise<T> {
  try {
    const url = new URL(issuer)
    // Whoever names an http issuer wants it so; one of https cannot lead to http.
    const execute = url.protocol === 'http:' ? [oidc.allowInsecureRequests] : []
    return await act(await oidc.discovery(url, 'stemma', {}, oidc.None(), { execute, timeout: patience }))
  } catch (error) {
    throw inWords(error, issuer)
  }
}

export function signedIn(
  answer: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
  issuer: string,
): SignedIn {
  const claims = answer.claims()
  if (!claims) throw new Refused(`${issuer} does not say who you are`)
  const who = typeof claims.email === 'string' ? claims.email : claims.sub
  return { tokens: { access: answer.access_token, refresh: answer.refresh_token }, who }
}

export function inWords(error: unknown, issuer: string): unknown {
  if (error instanceof Refused || error instanceof NotSignedIn || error instanceof UsageError) return error
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError)
    return refusal(error.error, error.error_description, issuer)
  if (error instanceof oidc.ClientError) return new Refused(faultOf(error, issuer))
  return error instanceof TypeError && error.cause instanceof Error ? unreachable(issuer, error) : error
}

function refusal(code: string, words: string | undefined, issuer: string): Error {
  if (code === 'access_denied') return new Refused('the sign-in was cancelled')
  if (code === 'expired_token') return expired()
  if (code === 'invalid_grant')
    return new NotSignedIn('your sign-in has ended, or is not valid: stemma auth login')
  return new Refused(`${issuer} refuses: ${words ?? code}`)
}

export const expired = () => new Refused('the code has expired before it was entered; start again')

function faultOf({ message, cause, code }: oidc.ClientError, issuer: string): string {
  const said = (cause as { body?: { issuer?: unknown } } | undefined)?.body?.issuer
  if (typeof said === 'string') return `${issuer} says that it is ${said}; if so, say --issuer ${said}`
  if (cause instanceof Response) return `${issuer} is no place to sign in: HTTP ${cause.status}`
  if (code === 'OAUTH_TIMEOUT') return `${issuer} does not answer`
  return `the answer of ${issuer} cannot be used: ${message}`
}
