// What every HTTP/1.1 answer says of itself, whoever writes it. Flat lists, as node:http sends them fastest.
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'

const always = [
  ...['cache-control', 'no-store', 'x-content-type-options', 'nosniff'],
  ...['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['referrer-policy', 'no-referrer'],
]
const underTls = [...always, 'strict-transport-security', 'max-age=31536000']

/** What an answer may say in place of the usual: how many seconds it may be kept, and what a page may do. */
export type OwnWords = { cacheFor?: number; policy?: string }

export function safeHeaders(isTls: boolean, { cacheFor, policy }: OwnWords = {}): readonly string[] {
  const headers = isTls ? underTls : always
  if (cacheFor === undefined && policy === undefined) return headers
  const own = [...headers]
  if (cacheFor !== undefined) own[own.indexOf('cache-control') + 1] = `max-age=${cacheFor}`
  if (policy !== undefined) own[own.indexOf('content-security-policy') + 1] = policy
  return own
}

export const isTls = (socket: Duplex | null) => socket instanceof TLSSocket
