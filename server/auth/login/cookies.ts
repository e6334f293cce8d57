// The names of our cookies. Browsers accept a cookie with the prefix `__Host-` only from this host, over https and for
// all paths, so neither another host of the domain nor a page over http can set it (RFC 6265bis, section 4.1.3).

export type CookieNames = {
  session: string
  interaction: string
  resume: string
  published: string
  /** For sessions without a person, and for unfinished sign-ins. A number follows each name (sealed-states.ts). */
  visit: string
  unfinished: string
}

export function cookieNamesOf(authUrl: string): CookieNames {
  const isHttps = authUrl.startsWith('https:')
  const [hostPrefix, securePrefix] = isHttps ? ['__Host-', '__Secure-'] : ['', '']
  return {
    session: `${hostPrefix}stemma_session`,
    published: `${hostPrefix}stemma_published`,
    visit: `${hostPrefix}stemma_visit`,
    // These three are limited to the path of one sign-in, so that a browser can have several sign-ins under way. A
    // cookie with the prefix `__Host-` cannot be limited to a path.
    interaction: `${securePrefix}stemma_sign_in`,
    resume: `${securePrefix}stemma_resume`,
    unfinished: `${securePrefix}stemma_unfinished`,
  }
}
