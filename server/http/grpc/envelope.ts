import type { Envelope } from '../../wire/envelope.ts'
import type { DoorOptions } from '../door.ts'
import { forwardedFor } from '../door.ts'
import type { InterceptedStream } from './intercepted-stream.ts'

export type EnvelopeOptions = Pick<DoorOptions, 'addressOf'> & { now(): number }

/** node:http2 joins repeated headers with commas. Two idempotency keys become one invalid key; the call is refused. */
const textOf = (header: string | string[] | undefined) => header?.toString()

export function envelopeOf(
  { headers, session, requestId, deadline }: InterceptedStream,
  { addressOf, now }: EnvelopeOptions,
): Envelope {
  return {
    door: 'grpc',
    address: addressOf(session?.socket.remoteAddress, forwardedFor(headers)),
    requestId,
    authorization: headers.authorization,
    timeout: Math.max(0, deadline - now()),
    ifMatch: headers['if-match'],
    idempotencyKey: textOf(headers['idempotency-key']),
    userAgent: headers['user-agent'],
  }
}
