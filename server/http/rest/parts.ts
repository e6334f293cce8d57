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
  let stopWaiting = () => {}
  response.once('close', () => stopWaiting())
  const write = (part: string) =>
    new Promise<void>((resolve) => {
      stopWaiting = resolve
      response.write(part, () => resolve())
    })
  try {
    // The first part is made before anything is sent: if it fails, an error response is still possible. This also
    // starts the generator: only a started generator runs the `finally` that reports the end of the call.
    let next = await parts.next()
    if (response.destroyed) await parts.throw(cancelled())
    const headers = [
      ...context.securityHeaders,
      'x-request-id',
      requestId,
      'content-type',
      'application/json',
      ...extraHeaders,
    ]
    writeHead(context, request, response, 200, headers, false)
    if (request.method === 'HEAD') next = await parts.return()
    for (; !next.done; next = await parts.next()) {
      await write(next.value)
      if (response.destroyed) await parts.throw(cancelled())
    }
    response.end()
  } catch (error) {
    if (!response.headersSent) throw error
    // The corridor has reported the error.
    resetConnection(response.socket)
  }
}
