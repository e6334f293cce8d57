// The headers of every HTTP/1.1 response. They are flat lists of names and values, which node:http writes fastest.
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'

const plainHeaders = [
  ...['cache-control', 'no-store', 'x-content-type-options', 'nosniff'],
  ...['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['referrer-policy', 'no-referrer'],
]
const httpsHeaders = [...plainHeaders, 'strict-transport-security', 'max-age=31536000']

/** Replaces defaults: for how many seconds a response may be cached, and the content security policy of a page. */
export type HeaderOverrides = { cacheFor?: number; policy?: string }

export function securityHeaders(
  isHttps: boolean,
  { cacheFor, policy }: HeaderOverrides = {},
): readonly string[] {
  const defaults = isHttps ? httpsHeaders : plainHeaders
  if (cacheFor === undefined && policy === undefined) return defaults
  const headers = [...defaults]
  if (cacheFor !== undefined) headers[headers.indexOf('cache-control') + 1] = `max-age=${cacheFor}`
  if (policy !== undefined) {
    headers[headers.indexOf('content-security-policy') + 1] = policy
    headers.push('cross-origin-opener-policy', 'same-origin')
  }
  return headers
}

export const isTls = (socket: Duplex | null) => socket instanceof TLSSocket
