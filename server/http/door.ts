// The types and limits that the doors of this room share. A door knows the contract, and nothing of the rooms behind the corridor.
import type { IncomingHttpHeaders } from 'node:http'
import type { Method } from '@stemma/api/method.ts'
import type { StatusError } from '../aip/errors.ts'
import type { ClientAddress } from './client-address.ts'
import type { RequestIds } from './request-id.ts'

/** A method of the contract. Its handler is known only behind the door. */
export type Endpoint = { method: Method }

/** The largest request of a method that needs no token. Such requests contain names, a code or nothing. */
export const maxOpenRequestBytes = 64 * 1024

/** Called for each request that fails before the corridor. The corridor reports all other calls. */
export type OnRejected = (requestId: string, error: StatusError, address: string) => void

export type DoorOptions = {
  /** The domain in the ErrorInfo of every error. */
  errorDomain: string
  requestIds: RequestIds
  addressOf: ClientAddress
  /** Whether clients use https, even if only to a proxy. If so, browsers are told not to use http (HSTS, RFC 6797). */
  isHttps: boolean
  onRejected: OnRejected
}

/** Node joins repeated X-Forwarded-For headers into one list. */
export const forwardedFor = (headers: IncomingHttpHeaders) => headers['x-forwarded-for'] as string | undefined
