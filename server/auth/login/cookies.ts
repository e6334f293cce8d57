// Our cookies and their names. Browsers accept a cookie with the prefix `__Host-` only from this host, over https and
// for all paths, so neither another host of the domain nor a page over http can set it (RFC 6265bis, section 4.1.3).
import type { PageRequest } from './page-request.ts'

export type CookieNames = {
  session: string
  interaction: string
  resume: string
  /** Recognises the browser that began a sign-in (browser.ts). */
  browser: string
  /** The session of a visitor who has not signed in. A number follows the name (sealed-states.ts). */
  visit: string
  /** The session of the web console (console/session.ts). */
  console: string
  /** An unfinished sign-in. A number follows the name (sealed-states.ts). */
  unfinished: string
}

/** `url` is the auth URL or, for the cookie `console`, the base URL. */
export function cookieNamesOf(url: string): CookieNames {
  const isHttps = url.startsWith('https:')
  const [hostPrefix, securePrefix] = isHttps ? ['__Host-', '__Secure-'] : ['', '']
  return {
    session: `${hostPrefix}stemma_session`,
    browser: `${hostPrefix}stemma_browser`,
    visit: `${hostPrefix}stemma_visit`,
    console: `${hostPrefix}stemma-console`,
    // These three are limited to the path of one sign-in, so that a browser can have several sign-ins under way. A
    // cookie with the prefix `__Host-` cannot be limited to a path. The three are useless without the cookie `browser`.
    interaction: `${securePrefix}stemma_sign_in`,
    resume: `${securePrefix}stemma_resume`,
    unfinished: `${securePrefix}stemma_unfinished`,
  }
}

export function readCookie({ request }: PageRequest, name: string): string | undefined {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(`${name}=`.length)
}

type NewCookie = { name: string; value: string; path: string; seconds: number; sameSite?: 'lax' | 'strict' }

/**
 * Adds a cookie to the response, in place of an earlier one with the same name and path. `url` is
 * the same as for `cookieNamesOf`.
 */
export function setCookie(
  url: string,
  { response }: PageRequest,
  { name, value, path, seconds, sameSite = 'lax' }: NewCookie,
): void {
  const secure = url.startsWith('https:') ? '; secure' : ''
  const lines = [response.getHeader('set-cookie') ?? []].flat().map(String)
  const others = lines.filter((line) => !line.startsWith(`${name}=`) || !line.includes(`; path=${path};`))
  const line = `${name}=${value}; path=${path}; max-age=${seconds}; samesite=${sameSite}${secure}; httponly`
  response.setHeader('set-cookie', [...others, line])
}
