// Forms must be sent from our own pages. A browser says in `Origin` which page sends a form; other sites cannot change it.
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
