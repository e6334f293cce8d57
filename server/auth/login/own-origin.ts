// Forms must be sent from our own pages, and another site may begin a sign-in only by navigating to it. Browsers state
// in `Origin` and `Sec-Fetch-*` which site sends a request and how, and a site cannot change these headers.
import type { IncomingMessage } from 'node:http'
import { Code } from '../../aip/code.ts'
import { StatusError } from '../../aip/errors.ts'
import { paths } from './paths.ts'

/**
 * Paths to which programs and other sites may post. Their handlers use no cookie, or only begin something that a person
 * must confirm at one of our forms. All other paths that accept POST are our forms.
 */
const pathsForOtherOrigins: readonly string[] = [
  ...[paths.token, paths.revocation, paths.deviceAuthorization],
  ...[paths.authorization, paths.logout],
]

/** The policy of our pages. With `no-referrer`, browsers send `Origin: null` with a form (Fetch, section 3.2). */
export const pageReferrerPolicy = 'same-origin'

/** Requests to these paths make a state without an identity: the cookies of a sign-in, or a stored device code. */
const anonymousStatePaths: readonly string[] = [
  ...[paths.authorization, paths.deviceAuthorization, paths.published, paths.logout],
]

/**
 * Another site must not begin sign-ins in the background. Device codes are limited for each network, so the site could
 * use up the limit of its visitor's network, and it could fill the browser with cookies. Programs do not send
 * `Sec-Fetch-*`, so requests without these headers are accepted.
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
  authUrl: string,
): void {
  if (method === 'GET' || method === 'HEAD' || pathsForOtherOrigins.includes(path)) return
  // All current browsers send this header with a form.
  if (headers.origin === new URL(authUrl).origin) return
  throw new StatusError(
    Code.PERMISSION_DENIED,
    `this form must be sent from a page of ${authUrl}, and the header Origin must say so; open the page again at that address`,
  )
}
