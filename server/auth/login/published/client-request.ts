// The request of a published client. The browser carries it as the encrypted `state` of the authorization request to
// oidc-provider, and a cookie binds it to that browser.
import { digestOf, equalInConstantTime } from '../../../crypto/digest.ts'
import { openText, sealText } from '../../../crypto/secret.ts'
import { cookieNamesOf } from '../cookies.ts'
import { expiredSignIn } from '../error-response.ts'
import type { PublishedDependencies } from './dependencies.ts'

export type ClientRequest = {
  /** The URL on the person's machine to which the token is sent; empty if there is a headless code. */
  redirect: string
  /** The code of a program on another machine (headless-sessions.ts); empty if there is a redirect. */
  headlessCode: string
  /** The uid of the identity to assume; empty for the person's own. */
  identity: string
  audiences: string[]
  scopes: string[]
  /** Whether a refresh token is wanted. */
  isRefreshed: boolean
  /** The digest of the secret in the browser's cookie. */
  browser: string
  /** The PKCE code verifier, which proves that a code belongs to this sign-in. */
  verifier: string
  /** In milliseconds since 1970. */
  expires: number
}

/** Part of the encryption, so it cannot change without breaking sign-ins that are under way. */
const purpose = 'sign-in of a published client'
const lifetimeSeconds = 60 * 60
export const requestLifetimeMs = lifetimeSeconds * 1000

export const sealRequest = ({ sealer }: PublishedDependencies, request: ClientRequest) =>
  sealText(sealer, purpose, JSON.stringify(request))

/** Decrypts a request. Refuses it if it was made in another browser, or has expired. */
export function openRequest(
  { sealer, now, authUrl }: PublishedDependencies,
  sealed: string,
  cookieHeader: string | undefined,
): ClientRequest {
  const browser = readCookie(authUrl, cookieHeader)
  try {
    const request = JSON.parse(openText(sealer, purpose, sealed)) as ClientRequest
    const isSameBrowser = browser !== undefined && equalInConstantTime(request.browser, digestOf(browser))
    if (isSameBrowser && request.expires > now()) return request
  } catch {
    throw expiredSignIn()
  }
  throw expiredSignIn()
}

/** The secret of this browser: the one in its cookie, or a new one. */
export const browserSecret = (
  { authUrl, random }: PublishedDependencies,
  cookieHeader: string | undefined,
): string => readCookie(authUrl, cookieHeader) ?? random(16).toString('base64url')

export function cookieOf(authUrl: string, secret: string): string {
  const secure = authUrl.startsWith('https:') ? '; Secure' : ''
  return `${cookieNamesOf(authUrl).published}=${secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${lifetimeSeconds}${secure}`
}

/** The secret of this browser, if its cookie has one. */
function readCookie(authUrl: string, header = ''): string | undefined {
  const start = `${cookieNamesOf(authUrl).published}=`
  const pair = header.split(';').find((text) => text.trimStart().startsWith(start))
  const secret = pair?.trim().slice(start.length)
  return secret !== undefined && /^[\w-]{22}$/.test(secret) ? secret : undefined
}
