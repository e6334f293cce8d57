// A JSON response that is sent in parts. Each part is made when the client has received the one before, so a slow
// client takes no memory. If a later part cannot be made, the connection is reset, so that the client notices that the
// response is incomplete.
import { cancelled } from '../../aip/errors.ts'
import type { JsonParts } from '../../wire/reply.ts'
import type { Exchange, ResponseContext } from './exchange.ts'
import { resetConnection } from './lines.ts'
import { writeHead } from './response.ts'

export async function sendParts(
  context: ResponseContext,
  { request, response, requestId }: Exchange,
  parts: JsonParts,
  extraHeaders: readonly string[],
): Promise<void> {
  const headers = [
    ...context.securityHeaders,
    'x-request-id',
    requestId,
    'content-type',
    'application/json',
    ...extraHeaders,
  ]
  let stopWaiting = () => {}
  response.once('close', () => stopWaiting())
  const write = (part: string) =>
    new Promise<void>((resolve) => {
      stopWaiting = resolve
      response.write(part, () => resolve())
    })
  /** Whether the client is still connected. If it is not, the call is ended. */
  function isConnected(): boolean {
    if (response.destroyed) parts.end(cancelled())
    return !response.destroyed
  }
  /** Returns whether the response goes on. */
  async function sendNext(): Promise<boolean> {
    const part = await parts.next()
    if (!isConnected()) return false
    // The head is written after the first part is made: if making it fails, an error response is still possible.
    if (!response.headersSent) writeHead(context, request, response, 200, headers, false)
    if (request.method === 'HEAD') parts.end()
    else if (part !== undefined) {
      if (part !== '') await write(part)
      return true
    }
    response.end()
    return false
  }
  try {
    while (await sendNext()) {
      await parts.wait()
      if (!isConnected()) return
    }
  } catch (error) {
    if (!response.headersSent) throw error
    // The corridor has reported the error.
    resetConnection(response.socket)
  }
}
