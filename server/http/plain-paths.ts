// Paths outside the contract that answer GET with text.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { asStatusError } from '../aip/errors.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen, recover } from '../wire/maybe-promise.ts'
import type { DoorOptions } from './door.ts'
import { forwardedFor } from './door.ts'
import type { HeaderOverrides } from './headers.ts'
import { securityHeaders } from './headers.ts'

/** Not cached unless `cacheFor` is set. With an `etag`, conditional requests are answered with 304. */
export type PlainResponse = HeaderOverrides & {
  status: number
  type: string
  /** Large bodies are bytes, which all responses share: a string would be copied for each client that is slow to read. */
  body: string | Uint8Array
  etag?: string
}
export type MakeResponse = (query: string) => MaybePromise<PlainResponse>
export type PlainPaths = Record<string, MakeResponse>

export type PlainOptions = Pick<DoorOptions, 'requestIds' | 'addressOf' | 'isHttps' | 'onRejected'>

export const textResponse = (status: number, body: string): PlainResponse => ({
  status,
  type: 'text/plain; charset=utf-8',
  body,
})

/** Synchronous unless the response has to be waited for: the paths are open to everybody, so they must be cheap. */
export function sendPlain(
  makeResponse: () => MaybePromise<PlainResponse>,
  request: IncomingMessage,
  response: ServerResponse,
  { requestIds, addressOf, isHttps, onRejected }: PlainOptions,
): MaybePromise<void> {
  const requestId = requestIds.of(request.headers)
  const send = (plain: PlainResponse, extraHeaders: readonly string[] = []) =>
    write(plain, request, response, [
      ...securityHeaders(isHttps, plain),
      ...['x-request-id', requestId],
      ...extraHeaders,
    ])
  const isAllowed = request.method === 'GET' || request.method === 'HEAD'
  if (!isAllowed) return send(notAllowed, allowHeader)
  const answered = recover(makeResponse, (thrown) => {
    const address = addressOf(request.socket.remoteAddress, forwardedFor(request.headers))
    onRejected(requestId, asStatusError(thrown), address)
    return failed
  })
  return andThen(answered, (plain) => send(plain))
}

const notAllowed = textResponse(405, 'method not allowed\n')
const allowHeader = ['allow', 'GET, HEAD']
const failed = textResponse(500, 'something went wrong on our side\n')

function write(
  plain: PlainResponse,
  request: IncomingMessage,
  response: ServerResponse,
  headers: string[],
): void {
  if (response.destroyed) return
  const { status, type, body, etag } = plain
  const isUnchanged = etag !== undefined && matchesTag(request.headers['if-none-match'], etag)
  if (etag !== undefined) headers.push('etag', etag)
  if (!isUnchanged) headers.push('content-type', type, 'content-length', String(Buffer.byteLength(body)))
  response.writeHead(isUnchanged ? 304 : status, headers)
  response.end(request.method === 'HEAD' || isUnchanged ? undefined : body)
}

/** If-None-Match is a list of tags, weak or strong (RFC 9110 section 13.1.2). */
const matchesTag = (header: string | undefined, etag: string) =>
  header?.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag) ?? false
