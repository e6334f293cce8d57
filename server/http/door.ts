// What both doors share. They know the contract, and nothing of the rooms behind the corridor.
import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Method } from '@stemma/api/method.ts'
import type { StatusError } from '../aip/errors.ts'
import { malformed } from '../aip/errors.ts'

/** A method of the contract; what answers it is known behind the door. */
export type Endpoint = { method: Method }

/** Told of what met no endpoint, and so walks through no corridor. */
export type OnStray = (requestId: string, error: StatusError) => void

/** What proxies say of whom they speak for; several headers are one list to node. */
export const forwardedFor = (headers: IncomingHttpHeaders) => headers['x-forwarded-for'] as string | undefined

/** How long calls may take, in milliseconds. A stream may take as long as a token lives, if it makes progress. */
const longestCall = 60_000
const longestStream = 3_600_000

export const longestOf = (method: Method | undefined) => (method?.isStream ? longestStream : longestCall)

/** What a caller sends as the id of a request, also as published clients of others do, is kept if it is harmless. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const sent = headers['x-request-id'] ?? headers.cgrequestid
  return typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : newRequestId()
}

let series = ''
let requests = 1_000_000

/** No other request of any copy has it; that nobody could guess it is not asked of it, and would cost more. */
function newRequestId(): string {
  if (requests === 1_000_000) {
    series = randomUUID().slice(0, -6)
    requests = 100_000
  }
  return `${series}${requests++}`
}

const unitMilliseconds: Record<string, number> = { H: 3.6e6, M: 6e4, S: 1000, m: 1, u: 1e-3, n: 1e-6 }

/** The milliseconds that a Grpc-Timeout gives a call, never more than such a call may take. */
export function timeoutOf(header: string | string[] | undefined, longest: number): number {
  if (header === undefined) return longest
  const [, amount, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(String(header)) ?? []
  if (amount === undefined)
    throw malformed('the header Grpc-Timeout must be a number and a unit, such as 10S')
  return Math.min(longest, Number(amount) * (unitMilliseconds[unit] ?? 0))
}
