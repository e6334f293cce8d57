import { Code } from '../../../aip/code.ts'
import { StatusError } from '../../../aip/errors.ts'
import type { PageRequest } from '../page-request.ts'

const header = 'x-stemma-console'

/**
 * Requires that the console sent the request. Forms and links of other sites cannot set this
 * header, and scripts of other origins cannot either, because the CORS headers of the server do not
 * allow it. `requireOwnOrigin` has checked `Origin` already, and the cookie is not sent from other
 * sites: each of these three protections is enough.
 */
export function requireOwnRequest({ request: { headers } }: PageRequest): void {
  const site = headers['sec-fetch-site'] ?? 'same-origin'
  if (headers[header] === '1' && site === 'same-origin') return
  throw new StatusError(
    Code.PERMISSION_DENIED,
    `only the console may send this request, with the header ${header}: 1 and from its own origin`,
  )
}
