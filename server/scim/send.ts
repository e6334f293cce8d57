// Renders responses and sends them.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { endAfterRequest } from '../wire/end-after-request.ts'
import { onClosed } from '../wire/on-closed.ts'
import type { ScimResponse } from './request.ts'

/**
 * Counts the bytes of responses that a client has not read. Throws if there would be too many. The identity is the uid
 * of the provider.
 */
export type ReserveUnsent = (client: { identity: string; address: string }, bytes: number) => () => void

/** A response as text. `onSent` is called when it was sent, or can no longer be sent. */
export type RenderedResponse = Omit<ScimResponse, 'body'> & { text?: string; size: number; onSent(): void }

/** Smaller responses are not counted: each connection has a maximum number of unsent responses. */
const maxUncountedBytes = 64 * 1024

export function render(
  { status, headers, body }: ScimResponse,
  reserve?: (bytes: number) => () => void,
): RenderedResponse {
  const shared = { status, ...(headers && { headers }) }
  if (body === undefined) return { ...shared, size: 0, onSent: () => {} }
  const text = JSON.stringify(body)
  const size = Buffer.byteLength(text)
  return { ...shared, text, size, onSent: (size > maxUncountedBytes && reserve?.(size)) || (() => {}) }
}

export function send(request: IncomingMessage, response: ServerResponse, rendered: RenderedResponse): void {
  const { status, headers, text, size, onSent } = rendered
  onClosed(response, onSent)
  if (response.destroyed) return
  for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value)
  const isArriving = status === 413 && !request.complete
  if (isArriving) response.setHeader('connection', 'close')
  if (text === undefined) {
    response.writeHead(status).end()
    return
  }
  response.writeHead(status, {
    'content-type': 'application/scim+json; charset=utf-8',
    'content-length': size,
  })
  if (isArriving) endAfterRequest(request, response, text)
  else response.end(request.method === 'HEAD' ? undefined : text)
}
