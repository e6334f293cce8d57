// Recognises the browser that began a sign-in, by a random secret in a cookie. The other cookies of a sign-in are not
// enough, because another host of the domain can set them (cookies.ts). An attacker on such a host could begin a
// sign-in and set its cookies in the browser of another person. That person would then be signed in to the attacker's
// account, or the attacker's browser would be signed in to that person's account.
import { digestOf, equalInConstantTime } from '../../crypto/digest.ts'
import type { RandomBytes } from '../../crypto/random.ts'
import { cookieNamesOf, readCookie, setCookie } from './cookies.ts'
import type { PageRequest } from './page-request.ts'

export type BrowserDependencies = { authUrl: string; random: RandomBytes }

/** As long as a sign-in may take. */
const lifetimeSeconds = 60 * 60

/** The digest of the browser's secret, by which `isSameBrowser` recognises it. A browser without a secret gets one. */
export function rememberBrowser({ authUrl, random }: BrowserDependencies, page: PageRequest): string {
  const secret = secretOf(authUrl, page) ?? random(16).toString('base64url')
  setCookie(authUrl, page, {
    ...{ name: cookieNamesOf(authUrl).browser, value: secret },
    ...{ path: '/', seconds: lifetimeSeconds },
  })
  return digestOf(secret)
}

export function isSameBrowser(authUrl: string, page: PageRequest, digest: unknown): boolean {
  const secret = secretOf(authUrl, page)
  return secret !== undefined && typeof digest === 'string' && equalInConstantTime(digest, digestOf(secret))
}

function secretOf(authUrl: string, page: PageRequest): string | undefined {
  const secret = readCookie(page, cookieNamesOf(authUrl).browser)
  return secret !== undefined && /^[\w-]{22}$/.test(secret) ? secret : undefined
}
