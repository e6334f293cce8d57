import type { IncomingMessage, ServerResponse } from 'node:http'

/** How long a client may go on sending a body after its request was answered. */
export const defaultLingerMs = 5_000

/**
 * Ends the response when the request has arrived, or after `lingerMs`. If it ended at once, data that is still arriving
 * would reset the connection before the client has read the response. The request must not be complete.
 */
export function endAfterRequest(
  request: IncomingMessage,
  response: ServerResponse,
  body: string | Uint8Array,
  lingerMs = defaultLingerMs,
): void {
  if (body.length === 0) response.flushHeaders()
  else response.write(body)
  const timer = setTimeout(() => response.end(), lingerMs)
  request.once('close', () => {
    clearTimeout(timer)
    response.end()
  })
  request.resume()
}
