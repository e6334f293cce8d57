// The validation handshake of CloudEvents (HTTP 1.1 Web Hooks for Event Delivery, 4): a sink says whether this server
// may send events to it, and how many. The status of its answer does not count.
import type { Send } from './send.ts'

/** `rate` is how many requests in a minute the sink allows; null if it set no limit. */
export type Consent = { isAllowed: boolean; rate: number | null }

/** `origin` is the host name of this server. */
export async function shakeHands(
  send: Send,
  sink: string,
  origin: string,
  stopped: AbortSignal,
): Promise<Consent> {
  const request = { method: 'OPTIONS', headers: { 'webhook-request-origin': origin } }
  const { headers } = await send(sink, request, stopped)
  const allowed = headers['webhook-allowed-origin']
  return { isAllowed: allowed === '*' || allowed === origin, rate: rateOf(headers['webhook-allowed-rate']) }
}

/** Anything but a positive number, such as `*`, is no limit. */
export function rateOf(header: string | string[] | undefined): number | null {
  const [digits] = /^[1-9]\d{0,8}$/.exec(String(header ?? '').trim()) ?? []
  return digits === undefined ? null : Number(digits)
}
