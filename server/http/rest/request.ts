// Finds the route of an HTTP request, and reads its envelope and message.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Message } from '@bufbuild/protobuf'
import { noSuchPath } from '../../aip/errors.ts'
import type { Envelope } from '../../wire/envelope.ts'
import type { MaybePromise } from '../../wire/maybe-promise.ts'
import type { ClientAddress } from '../client-address.ts'
import { forwardedFor, maxOpenRequestBytes } from '../door.ts'
import { timeoutOf } from '../timeout.ts'
import { bindRequest } from './bind.ts'
import { isForm, isJson, readJsonText, readText } from './body.ts'
import type { Match, Routes } from './routes.ts'

export function findRoute(routes: Routes, request: IncomingMessage, segments: string[]): Match {
  const match = routes.match(verbOf(request), segments)
  if (match) return match
  const matches = routes.find(segments)
  const get = matches.get('GET')
  if (get && request.method === 'POST' && isForm(request)) return get
  if (matches.size === 0) throw noSuchPath()
  throw routes.notAllowed(matches.keys())
}

/**
 * A filter that is too long for a URL may be sent as a form with POST. The header X-HTTP-Method-Override: GET is needed
 * only if the path has a POST method as well.
 */
function verbOf(request: IncomingMessage): string {
  if (request.method === 'HEAD') return 'GET'
  const override = request.headers['x-http-method-override']
  if (request.method === 'POST' && override === 'GET' && isForm(request)) return 'GET'
  return request.method ?? ''
}

/** Returns a promise only if there is a body to wait for. */
export function readRequest(
  request: IncomingMessage,
  response: ServerResponse,
  match: Match,
  query: string,
): MaybePromise<Message> {
  if (match.route.binding.body !== '')
    return readJsonText(request, response, maxBytesOf(match)).then((body) => bindRequest(match, query, body))
  if (request.method !== 'POST') return bindRequest(match, query, '')
  if (isJson(request))
    return readText(request, response, maxBytesOf(match)).then((body) => bindRequest(match, query, body))
  if (!isForm(request)) return bindRequest(match, query, '')
  return readText(request, response, maxBytesOf(match)).then((form) =>
    bindRequest(match, [query, form].filter(Boolean).join('&'), ''),
  )
}

/** Undefined for the usual limit. */
const maxBytesOf = ({ route }: Match) =>
  route.endpoint.method.access?.open ? maxOpenRequestBytes : undefined

export function envelopeOf(
  request: IncomingMessage,
  requestId: string,
  addressOf: ClientAddress,
  maxDurationMs: number,
): Envelope {
  const { headers } = request
  return {
    door: 'rest',
    requestId,
    address: addressOf(request.socket.remoteAddress, forwardedFor(headers)),
    authorization: headers.authorization,
    timeout: timeoutOf(headers['grpc-timeout'], maxDurationMs),
    ifMatch: headers['if-match'],
    // Node joins repeated headers with a comma; keys joined in this way are not valid. Only `set-cookie` is an array.
    idempotencyKey: headers['idempotency-key'] as string | undefined,
    userAgent: headers['user-agent'],
  }
}
