// The REST door: finds the route of an HTTP/1.1 request, passes the call to the corridor and writes its reply.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { StatusError } from '../../aip/errors.ts'
import { noSuchPath, replayedHeader } from '../../aip/errors.ts'
import type { MaybePromise } from '../../wire/maybe-promise.ts'
import { andThen, recover } from '../../wire/maybe-promise.ts'
import { onClosed } from '../../wire/on-closed.ts'
import type { Reply } from '../../wire/reply.ts'
import { asJson } from '../../wire/reply.ts'
import { formatWarnings, warningHeader } from '../../wire/warning.ts'
import { canonicalSegments } from '../aliases.ts'
import type { Endpoint } from '../door.ts'
import { securityHeaders } from '../headers.ts'
import { defaultTimeoutsMs } from '../listen/timeouts.ts'
import { prefersHtml } from '../prefers-html.ts'
import { splitTarget } from '../target.ts'
import { maxDurationOf } from '../timeout.ts'
import { awaitsContinue } from './body.ts'
import { openErrorRenderer } from './error-body.ts'
import type { ErrorPage, Exchange, RestContext } from './exchange.ts'
import { requireChunks } from './lines.ts'
import { sendParts } from './parts.ts'
import { envelopeOf, findRoute, readRequest } from './request.ts'
import { sendError, sendJson, streamClient } from './response.ts'
import type { Match } from './routes.ts'
import { allowHeaderOf, makeRoutes, splitPath } from './routes.ts'
import { fieldSpellingOf } from './spelling.ts'

export type RestOptions<E extends Endpoint> = Omit<
  RestContext<E>,
  'routes' | 'securityHeaders' | 'renderError' | 'lingerMs' | 'notFoundPageFor'
> & {
  endpoints: readonly E[]
  lingerMs?: number
  /** The page for browsers at a path that does not exist. Without it they get JSON. */
  notFoundPage?: ErrorPage
}

const empty = asJson('')

/** Returns a function that answers a request. `fault` is the error in the head of the request, if there is one. */
export function openRest<E extends Endpoint>({ endpoints, ...options }: RestOptions<E>) {
  const context: RestContext<E> = {
    lingerMs: defaultTimeoutsMs.linger,
    ...options,
    routes: makeRoutes(endpoints),
    notFoundPageFor: notFoundPages(endpoints, options.notFoundPage),
    securityHeaders: securityHeaders(options.isHttps),
    renderError: openErrorRenderer(options.errorDomain, options.baseUrl),
  }
  return (request: IncomingMessage, response: ServerResponse, fault?: StatusError) =>
    handle(context, request, response, fault)
}

/**
 * The page for a browser. Undefined, which means JSON, for other clients, and if a path of the
 * contract has the same first segment as the path of the request.
 */
function notFoundPages(endpoints: readonly Endpoint[], page: ErrorPage | undefined) {
  const apiSegments = new Set(
    endpoints.flatMap(({ method }) => method.bindings.map(({ path }) => path.split('/')[1])),
  )
  return (request: IncomingMessage) => {
    const [, firstSegment] = splitTarget(request.url ?? '').path.split('/', 2)
    return prefersHtml(request) && !apiSegments.has(firstSegment) ? page : undefined
  }
}

function handle<E extends Endpoint>(
  context: RestContext<E>,
  request: IncomingMessage,
  response: ServerResponse,
  fault: StatusError | undefined,
): MaybePromise<void> {
  const requestId = context.requestIds.of(request.headers)
  const exchange: Exchange = { request, response, requestId, match: undefined }
  const answer = () => {
    if (fault) throw fault
    return answerCall(context, exchange)
  }
  // After a malformed head, the next bytes on the connection may not be the start of a request.
  if (fault) response.shouldKeepAlive = false
  // Whether the body has arrived is known only after the parser's callback for the headers has returned.
  const mustWaitForParser = request.headers['transfer-encoding'] !== undefined || awaitsContinue(request)
  return recover(mustWaitForParser ? () => Promise.resolve().then(answer) : answer, (thrown) =>
    sendError(context, exchange, thrown),
  )
}

function answerCall<E extends Endpoint>(context: RestContext<E>, exchange: Exchange): MaybePromise<void> {
  const { request, response, requestId } = exchange
  const target = splitTarget(request.url ?? '')
  const segments = canonicalSegments(splitPath(target.path))
  if (request.method === 'OPTIONS') return answerPreflight(context, exchange, segments)
  const match = findRoute(context.routes, request, segments)
  const endpoint = match.route.endpoint as E // routes are made from the endpoints of this door
  const envelope = envelopeOf(request, requestId, context.addressOf, maxDurationOf(endpoint.method))
  exchange.match = match
  if (endpoint.method.isStream)
    return context.streams.run(streamClient(context, exchange), endpoint, envelope, () => {
      requireChunks(request)
      return readRequest(request, response, match, target.query)
    })
  const read = () => readRequest(request, response, match, target.query)
  return andThen(context.corridor(endpoint, envelope, read), (reply) => {
    if (reply.parts) return sendParts(context, exchange, reply.parts(), headersOf(reply, match))
    if (reply.onSent) onClosed(response, reply.onSent)
    return sendJson(context, exchange, 200, reply.json(), headersOf(reply, match))
  })
}

function headersOf({ etag, isReplayed, warnings, headers: others }: Reply, match: Match): string[] {
  const headers = etag ? ['etag', etag] : []
  if (isReplayed) headers.push(replayedHeader, 'true')
  if (warnings) headers.push(warningHeader, formatWarnings(warnings, fieldSpellingOf(match)))
  if (others) headers.push(...Object.entries(others).flat())
  return headers
}

function answerPreflight<E extends Endpoint>(
  context: RestContext<E>,
  exchange: Exchange,
  segments: string[],
): void {
  const matches = context.routes.find(segments)
  if (matches.size === 0) throw noSuchPath()
  sendJson(context, exchange, 204, empty, ['allow', allowHeaderOf(matches.keys())])
}
