// Forms must be sent from our own pages, and other sites may begin a sign-in only by opening it. A browser says in
// `Origin` and `Sec-Fetch-*` which page sends a request and how; other sites cannot change that.
import type { IncomingMessage } from 'node:http'
import { Code } from '../../aip/code.ts'
import { StatusError } from '../../aip/errors.ts'
import { paths } from './paths.ts'

/**
 * Paths to which programs and other sites may post. They use no cookie, or only begin something that a person must
 * confirm at one of our forms. Every other path is one of our forms.
 */
const openPaths: readonly string[] = [
  ...[paths.token, paths.revocation, paths.deviceAuthorization],
  ...[paths.authorization, paths.logout],
]

/** The policy of our pages. With `no-referrer`, browsers send `Origin: null` with a form (Fetch, section 3.2). */
export const pageReferrerPolicy = 'same-origin'

/** These store the state of a sign-in that nobody has finished. */
const beginningPaths: readonly string[] = [
  ...[paths.authorization, paths.deviceAuthorization, paths.published, paths.logout],
]

/**
 * A page of another site must not begin sign-ins in the background: the states of a network are limited, so it could
 * push out the unfinished sign-ins of everybody behind the address of its visitor. Programs do not send `Sec-Fetch-*`.
 */
export function requireNavigation({ headers }: Pick<IncomingMessage, 'headers'>, path: string): void {
  const { 'sec-fetch-site': site = 'none', 'sec-fetch-mode': mode = 'navigate' } = headers
  const isInBackground = mode !== 'navigate' && (site === 'cross-site' || site === 'same-site')
  if (isInBackground && beginningPaths.includes(path))
    throw new StatusError(
      Code.PERMISSION_DENIED,
      'another site can begin a sign-in only by opening it in a window',
    )
}

export function requireOwnOrigin(
  { method = 'GET', headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  path: string,
  authUrl: string,
): void {
  if (method === 'GET' || method === 'HEAD' || openPaths.includes(path)) return
  // Every browser of the last years sends it with a form.
  if (headers.origin === new URL(authUrl).origin) return
  throw new StatusError(
    Code.PERMISSION_DENIED,
    `this form must be sent from a page of ${authUrl}, and the header Origin must say so; open the page again at that address`,
  )
}
