// What every HTTP/1.1 answer says of itself, whoever writes it. Flat lists, as node:http sends them fastest.
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'

const always = [
  ...['cache-control', 'no-store', 'x-content-type-options', 'nosniff'],
  ...['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['referrer-policy', 'no-referrer'],
]
const underTls = [...always, 'strict-transport-security', 'max-age=31536000']

export function safeHeaders(isTls: boolean, cacheFor?: number): readonly string[] {
  const headers = isTls ? underTls : always
  return cacheFor === undefined ? headers : ['cache-control', `max-age=${cacheFor}`, ...headers.slice(2)]
}

export const isTls = (socket: Duplex | null) => socket instanceof TLSSocket
