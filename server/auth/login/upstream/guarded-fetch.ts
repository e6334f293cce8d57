import type { CustomFetch } from 'openid-client'
import type { Outbound } from '../../outbound/outbound.ts'

/** A fetch for openid-client that sends every request through `outbound`, which refuses private addresses. */
export function guardedFetch(outbound: Outbound, issuer: string, isTrusted: boolean): CustomFetch {
  return async (url, { method, headers, body }) => {
    // Trust in an issuer does not extend to other hosts that its discovery document names.
    const isSameOrigin = new URL(url).origin === new URL(issuer).origin
    const response = await outbound(url, isTrusted && isSameOrigin, {
      method,
      headers,
      ...(body !== undefined && body !== null && { body: String(body) }),
    })
    // Headers that can occur several times, such as Set-Cookie, are dropped: openid-client does not use them.
    const singleHeaders = Object.entries(response.headers).filter(([, value]) => typeof value === 'string')
    const content = response.body.length > 0 ? new Uint8Array(response.body) : null
    return new Response(content, { status: response.status, headers: singleHeaders as [string, string][] })
  }
}
