// Forms must be sent from our own pages, and another site may begin a sign-in only by navigating the browser to our
// page. Browsers state in `Origin` and `Sec-Fetch-*` which site sends a request and how; a site cannot change these
// headers.
import type { IncomingMessage } from 'node:http'
import { Code } from '../../aip/code.ts'
import { StatusError } from '../../aip/errors.ts'
import { consolePaths, isConsoleSessionPath, paths } from './paths.ts'

/**
 * Paths to which programs and other sites may post. Their handlers use no cookie, or only begin something that a person
 * must confirm at one of our forms. All other paths that accept POST are our forms.
 */
const pathsForOtherOrigins: readonly string[] = [
  ...[paths.token, paths.revocation, paths.deviceAuthorization],
  ...[paths.authorization, paths.logout],
]

/**
 * The referrer policy of our pages. With `no-referrer`, browsers would send `Origin: null` with our forms (Fetch,
 * section 3.2), and `requireOwnOrigin` would refuse these.
 */
export const pageReferrerPolicy = 'same-origin'

/**
 * Paths that create state for a visitor who has not signed in: the cookies of a sign-in, the secret of a form (which
 * replaces that of a form that is already open), or a stored device code.
 */
const anonymousStatePaths: readonly string[] = [
  ...[paths.authorization, paths.deviceAuthorization, paths.device, paths.published, paths.logout],
  consolePaths.signIn,
]

/**
 * Refuses sign-ins that another site begins in the background. These could fill the browser with cookies, or use up the
 * limit on device codes of the visitor's network. Programs do not send `Sec-Fetch-*`, so requests without these headers
 * are accepted.
 */
export function requireNavigation({ headers }: Pick<IncomingMessage, 'headers'>, path: string): void {
  const site = headers['sec-fetch-site']
  const { 'sec-fetch-mode': mode = 'navigate', 'sec-fetch-dest': destination = 'document' } = headers
  // A request for a frame also has the mode `navigate`, but its destination is not `document`.
  const isInBackground =
    (site === 'cross-site' || site === 'same-site') && (mode !== 'navigate' || destination !== 'document')
  if (isInBackground && anonymousStatePaths.includes(path))
    throw new StatusError(
      Code.PERMISSION_DENIED,
      'another site can begin a sign-in only by opening it in a window',
    )
}

export function requireOwnOrigin(
  { method = 'GET', headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  path: string,
  { authUrl, baseUrl }: { authUrl: string; baseUrl: string },
): void {
  if (method === 'GET' || method === 'HEAD' || pathsForOtherOrigins.includes(path)) return
  const url = isConsoleSessionPath(path) ? baseUrl : authUrl
  // All current browsers send `Origin` with a form.
  if (headers.origin === new URL(url).origin) return
  throw new StatusError(
    Code.PERMISSION_DENIED,
    `this form must be sent from a page of ${url}, and the header Origin must say so; open the page again at that address`,
  )
}
