// Writes responses: JSON, errors and streams.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { asStatusError, noSuchPath } from '../../aip/errors.ts'
import { endAfterRequest } from '../../wire/end-after-request.ts'
import type { Json } from '../../wire/reply.ts'
import { forwardedFor } from '../door.ts'
import { securityHeaders } from '../headers.ts'
import { defaultTimeoutsMs } from '../listen/timeouts.ts'
import type { StreamClient } from '../streams.ts'
import { awaitsContinue, hasLongUnreadBody } from './body.ts'
import { corsHeaders } from './cors.ts'
import type { ErrorPage, Exchange, ResponseContext } from './exchange.ts'
import { linesType, lineWriter } from './lines.ts'
import { fieldSpellingOf } from './spelling.ts'

export function sendJson(
  context: ResponseContext,
  { request, response, requestId }: Exchange,
  status: number,
  { text, size }: Json,
  extraHeaders: readonly string[],
): void {
  if (response.headersSent || response.destroyed) return
  const headers = [...context.securityHeaders, 'x-request-id', requestId, ...extraHeaders]
  if (size > 0) headers.push('content-type', 'application/json')
  if (status !== 204) headers.push('content-length', String(size))
  const hasUnreadBody = hasLongUnreadBody(request)
  writeHead(context, request, response, status, headers, hasUnreadBody)
  const body = request.method === 'HEAD' ? '' : text
  if (hasUnreadBody) endAfterRequest(request, response, body, context.lingerMs)
  // If the text is ASCII, its bytes are the same in latin1, which Node.js writes without an encoding step.
  else response.end(body, size === text.length ? 'latin1' : 'utf8')
}

export function sendError(context: ResponseContext, exchange: Exchange, thrown: unknown): void {
  const error = asStatusError(thrown)
  if (!exchange.match) context.onRejected(exchange.requestId, error, addressOf(context, exchange.request))
  const page = error === noSuchPath() ? context.notFoundPageFor?.(exchange.request) : undefined
  if (page) {
    sendPage(context, exchange, error.http, page)
    return
  }
  const spell = exchange.match && error.violations.length > 0 ? fieldSpellingOf(exchange.match) : undefined
  const { body, headers } = context.renderError(error, spell)
  sendJson(context, exchange, error.http, body, headers)
}

function sendPage(
  context: ResponseContext,
  { request, response, requestId }: Exchange,
  status: number,
  { body, policy }: ErrorPage,
): void {
  const headers = [
    ...securityHeaders(context.isHttps, { policy }),
    ...['x-request-id', requestId, 'content-type', 'text/html; charset=utf-8'],
    ...['content-length', String(Buffer.byteLength(body))],
  ]
  writeHead(context, request, response, status, headers, hasLongUnreadBody(request))
  response.end(request.method === 'HEAD' ? '' : body)
}

const addressOf = ({ addressOf }: ResponseContext, { socket, headers }: IncomingMessage) =>
  addressOf(socket.remoteAddress, forwardedFor(headers))

export function streamClient(
  context: ResponseContext,
  { request, response, requestId }: Exchange,
): StreamClient {
  const end = () => {
    if (hasLongUnreadBody(request)) endAfterRequest(request, response, '', context.lingerMs)
    else response.end()
  }
  return lineWriter(response, {
    end,
    open() {
      if (response.destroyed) return true
      const headers = [...context.securityHeaders, 'x-request-id', requestId, 'content-type', linesType]
      writeHead(context, request, response, 200, headers, hasLongUnreadBody(request))
      if (request.method === 'HEAD') end()
      return request.method !== 'HEAD'
    },
  })
}

/** Tells clients how long they may reuse an idle connection (RFC 2068 section 19.7.1.1). */
const keepAliveHint = `timeout=${defaultTimeoutsMs.keepAlive / 1000}`

export function writeHead(
  { corsOrigins, isDraining }: ResponseContext,
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: string[],
  hasUnreadBody: boolean,
): void {
  const { origin } = request.headers
  if (origin !== undefined) headers.push(...corsHeaders(corsOrigins, origin, request.method === 'OPTIONS'))
  if (hasUnreadBody || awaitsContinue(request) || isDraining()) headers.push('connection', 'close')
  else if (response.shouldKeepAlive) headers.push('keep-alive', keepAliveHint)
  response.writeHead(status, headers)
}
