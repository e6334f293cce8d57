// REST over HTTP/1.1: finds the route, reads the request, writes the answer.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Message } from '@bufbuild/protobuf'
import { internal, malformed, methodNotAllowed, noSuchPath, StatusError, tooLarge } from '../../aip/errors.ts'
import type { Corridor, Envelope } from '../../wire/envelope.ts'
import type { MaybePromise } from '../../wire/maybe-promise.ts'
import { andThen, recover } from '../../wire/maybe-promise.ts'
import type { Json } from '../../wire/reply.ts'
import { asJson } from '../../wire/reply.ts'
import type { ClientAddress } from '../client-address.ts'
import type { Endpoint, OnStray } from '../door.ts'
import { forwardedFor, longestOf, requestIdOf, timeoutOf } from '../door.ts'
import { safeHeaders } from '../headers.ts'
import { ownSegments } from '../names.ts'
import type { Client, Streams } from '../streams.ts'
import { splitTarget } from '../target.ts'
import { bindRequest } from './bind.ts'
import { isForm, isHeldBack, isJson, isLongUnread, readJsonText, readText } from './body.ts'
import { corsHeaders } from './cors.ts'
import { errorBody } from './error-body.ts'
import { linesType, openLines, requireChunks } from './lines.ts'
import type { Match } from './routes.ts'
import { makeRoutes, splitPath } from './routes.ts'

export type RestOptions<E extends Endpoint> = {
  endpoints: readonly E[]
  corridor: Corridor<E>
  streams: Streams<E>
  errorDomain: string
  /** Names the realm in challenges. */
  baseUrl: string
  corsOrigins: readonly string[]
  isTls: boolean
  addressOf: ClientAddress
  onStray: OnStray
  isDraining(): boolean
  /** How long a client may go on sending a body that was refused, in milliseconds. */
  linger?: number
}

const longestUrl = 8 * 1024
const nothing = asJson('')

export function openRest<E extends Endpoint>(options: RestOptions<E>) {
  const {
    endpoints,
    corridor,
    streams,
    errorDomain,
    baseUrl,
    corsOrigins,
    addressOf,
    onStray,
    isDraining,
    linger = 5000,
  } = options
  const routes = makeRoutes(endpoints)
  const fixedHeaders = safeHeaders(options.isTls)

  function handle(request: IncomingMessage, response: ServerResponse): MaybePromise<void> {
    const requestId = requestIdOf(request.headers)
    let hasBody = false
    let isStray = true

    function answer(): MaybePromise<void> {
      const target = targetOf(request)
      const segments = ownSegments(splitPath(target.path))
      if (request.method === 'OPTIONS') return preflight(request, response, segments, requestId)
      const match = findRoute(request, segments)
      hasBody = match.route.binding.body !== ''
      const endpoint = match.route.endpoint as E
      const envelope = envelopeOf(request, requestId, addressOf, longestOf(endpoint.method))
      const read = () => readRequest(request, response, match, target.query)
      isStray = false
      if (endpoint.method.isStream)
        return streams.run(linesTo(request, response, requestId), endpoint, envelope, () => {
          requireChunks(request)
          return read()
        })
      return andThen(corridor(endpoint, envelope, read), (reply) =>
        send(request, response, 200, reply.json(), requestId, reply.etag ? ['etag', reply.etag] : []),
      )
    }

    // Whether a body is already there is known only once its announcement is read.
    const isAnnounced = request.headers['transfer-encoding'] !== undefined || isHeldBack(request)
    return recover(isAnnounced ? () => Promise.resolve().then(answer) : answer, (thrown) => {
      const error = thrown instanceof StatusError ? thrown : internal(thrown)
      if (isStray) onStray(requestId, error)
      const body = errorBody(error, errorDomain, hasBody)
      const headers = Object.entries(challenged(error.headers)).flat()
      send(request, response, error.http, asJson(body), requestId, headers)
    })
  }

  function findRoute(request: IncomingMessage, segments: string[]): Match {
    const verb = verbOf(request)
    const match = routes.match(verb, segments)
    if (match) return match
    const others = routes.find(segments)
    const get = others.get('GET')
    if (get && request.method === 'POST' && isForm(request)) return get
    if (others.size === 0) throw noSuchPath()
    throw methodNotAllowed(allowed(others))
  }

  function preflight(
    request: IncomingMessage,
    response: ServerResponse,
    segments: string[],
    requestId: string,
  ): void {
    const others = routes.find(segments)
    if (others.size === 0) throw noSuchPath()
    send(request, response, 204, nothing, requestId, ['allow', allowed(others)])
  }

  function send(
    request: IncomingMessage,
    response: ServerResponse,
    status: number,
    { text, size }: Json,
    requestId: string,
    more: readonly string[],
  ): void {
    if (response.headersSent || response.destroyed) return
    const headers = [...fixedHeaders, 'x-request-id', requestId, ...more]
    if (size > 0) headers.push('content-type', 'application/json')
    if (status !== 204) headers.push('content-length', String(size))
    const isUnread = isLongUnread(request)
    writeHead(request, response, status, headers, isUnread)
    const sent = request.method === 'HEAD' ? '' : text
    if (isUnread) endLater(request, response, sent, linger)
    // ASCII is the same in both, and latin1 is written without being encoded.
    else response.end(sent, size === text.length ? 'latin1' : 'utf8')
  }

  function writeHead(
    request: IncomingMessage,
    response: ServerResponse,
    status: number,
    headers: string[],
    isUnread: boolean,
  ): void {
    const { origin } = request.headers
    if (origin !== undefined) headers.push(...corsHeaders(corsOrigins, origin, request.method === 'OPTIONS'))
    if (isUnread || isHeldBack(request) || isDraining()) headers.push('connection', 'close')
    response.writeHead(status, headers)
  }

  function linesTo(request: IncomingMessage, response: ServerResponse, requestId: string): Client {
    const end = () => {
      if (isLongUnread(request)) endLater(request, response, '', linger)
      else response.end()
    }
    return openLines(response, {
      end,
      open() {
        if (response.destroyed) return true
        const headers = [...fixedHeaders, 'x-request-id', requestId, 'content-type', linesType]
        writeHead(request, response, 200, headers, isLongUnread(request))
        if (request.method === 'HEAD') end()
        return request.method !== 'HEAD'
      },
    })
  }

  function challenged(headers: Record<string, string>): Record<string, string> {
    const challenge = headers['www-authenticate']
    if (challenge === undefined) return headers
    const realm = `Bearer realm="${baseUrl}"`
    return { ...headers, 'www-authenticate': challenge === '' ? realm : `${realm}, ${challenge}` }
  }

  return handle
}

/** Ended at once, what the client still sends would reset the connection before it has read the answer. */
function endLater(request: IncomingMessage, response: ServerResponse, body: string, linger: number): void {
  if (body === '') response.flushHeaders()
  else response.write(body)
  const timer = setTimeout(() => response.end(), linger)
  request.once('close', () => {
    clearTimeout(timer)
    response.end()
  })
  request.resume()
}

function allowed(matches: Map<string, Match>): string {
  const verbs = [...matches.keys()]
  return [...verbs, ...(verbs.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')
}

/** A long filter may be sent as a form: POST, overridden to GET. */
function verbOf(request: IncomingMessage): string {
  if (request.method === 'HEAD') return 'GET'
  const override = request.headers['x-http-method-override']
  if (request.method === 'POST' && override === 'GET' && isForm(request)) return 'GET'
  return request.method ?? ''
}

function targetOf(request: IncomingMessage): { path: string; query: string } {
  const { url = '', httpVersion, headers } = request
  if (url.length > longestUrl) throw tooLarge(`the URL must be at most ${longestUrl} bytes`, 414)
  // RFC 9112 section 3.2.
  if (headers.host === undefined && httpVersion === '1.1') throw malformed('the header Host is required')
  return splitTarget(url)
}

/** At once where there is no body to wait for. */
function readRequest(
  request: IncomingMessage,
  response: ServerResponse,
  match: Match,
  query: string,
): MaybePromise<Message> {
  if (match.route.binding.body !== '')
    return readJsonText(request, response).then((body) => bindRequest(match, query, body))
  if (request.method !== 'POST') return bindRequest(match, query, '')
  if (isJson(request)) return readText(request, response).then((body) => bindRequest(match, query, body))
  if (!isForm(request)) return bindRequest(match, query, '')
  return readText(request, response).then((form) =>
    bindRequest(match, [query, form].filter(Boolean).join('&'), ''),
  )
}

function envelopeOf(
  request: IncomingMessage,
  requestId: string,
  addressOf: ClientAddress,
  longest: number,
): Envelope {
  return {
    door: 'rest',
    requestId,
    address: addressOf(request.socket.remoteAddress, forwardedFor(request.headers)),
    authorization: request.headers.authorization,
    timeout: timeoutOf(request.headers['grpc-timeout'], longest),
    ifMatch: request.headers['if-match'],
  }
}
