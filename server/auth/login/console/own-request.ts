import { Code } from '../../../aip/code.ts'
import { StatusError } from '../../../aip/errors.ts'
import type { PageRequest } from '../page-request.ts'

const header = 'x-stemma-console'

/**
 * Requires that the console sent the request. Forms and links of other sites cannot set this header, and a script of
 * another origin cannot either, because the server allows it to no other origin. `requireOwnOrigin` has checked `Origin`
 * already, and the cookie is not sent from other sites: each of the three is enough.
 */
export function requireOwnRequest({ request: { headers } }: PageRequest): void {
  const site = headers['sec-fetch-site'] ?? 'same-origin'
  if (headers[header] === '1' && site === 'same-origin') return
  throw new StatusError(
    Code.PERMISSION_DENIED,
    `only the console may send this request, with the header ${header}: 1 and from its own origin`,
  )
}
