// The request of a published client. The browser carries it as the encrypted `state` of the authorization request to
// oidc-provider, and a cookie binds it to that browser.
import { openText, sealText } from '../../../crypto/secret.ts'
import { isSameBrowser } from '../browser.ts'
import { expiredSignIn } from '../error-response.ts'
import type { PageRequest } from '../page-request.ts'
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
  wantsRefreshToken: boolean
  /** The digest of the browser's secret (browser.ts). */
  browser: string
  /** The PKCE code verifier, which proves that a code belongs to this sign-in. */
  verifier: string
  /** In milliseconds since 1970. */
  expires: number
}

/** Encrypted requests are bound to this text, so changing it would break sign-ins that are under way. */
const purpose = 'sign-in of a published client'
export const requestLifetimeMs = 60 * 60_000

export const sealRequest = ({ sealer }: PublishedDependencies, request: ClientRequest) =>
  sealText(sealer, purpose, JSON.stringify(request))

/** Decrypts a request. Refuses it if it was made in another browser, or has expired. */
export function openRequest(
  { sealer, now, authUrl }: PublishedDependencies,
  sealed: string,
  page: PageRequest,
): ClientRequest {
  try {
    const request = JSON.parse(openText(sealer, purpose, sealed)) as ClientRequest
    if (isSameBrowser(authUrl, page, request.browser) && request.expires > now()) return request
  } catch {
    throw expiredSignIn()
  }
  throw expiredSignIn()
}
