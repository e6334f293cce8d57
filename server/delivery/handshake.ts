// The validation handshake of CloudEvents (HTTP 1.1 Web Hooks for Event Delivery, 4): a sink says whether this server
// may send events to it. The status of its answer does not count.
import type { Send } from './send.ts'

/** `origin` is the host name of this server. */
export async function isAllowed(
  send: Send,
  sink: string,
  origin: string,
  stopped: AbortSignal,
): Promise<boolean> {
  const request = { method: 'OPTIONS', headers: { 'webhook-request-origin': origin } }
  const { headers } = await send(sink, request, stopped)
  const allowed = headers['webhook-allowed-origin']
  return allowed === '*' || allowed === origin
}
