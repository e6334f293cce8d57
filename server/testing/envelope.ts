import type { Envelope } from '../wire/envelope.ts'

/** The envelope of a call that no door has received. */
export const testEnvelope: Envelope = {
  ...{ door: 'rest', requestId: 'test', address: '127.0.0.1', authorization: undefined, timeout: 60_000 },
  ...{ ifMatch: undefined, idempotencyKey: undefined, userAgent: undefined },
}
