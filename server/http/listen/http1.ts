// The HTTP/1.1 server. It gets its connections from connections.ts and never listens itself.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { tooManyRequests } from '../../aip/errors.ts'
import type { DoorOptions } from '../door.ts'
import { createServer } from '../node-http.ts'
import type { ConnectionState } from './connection-state.ts'
import { maxHeaderBytes, maxRefusals, maxUnsentResponses, maxUrlBytes } from './limits.ts'
import type { PacedTurns } from './paced-turns.ts'
import { paceRequests } from './pacing.ts'
import { openParseErrors } from './parse-errors.ts'
import type { TimeoutsMs } from './timeouts.ts'

export type Http1Options = Omit<DoorOptions, 'addressOf'> & {
  onRequest(request: IncomingMessage, response: ServerResponse): void
  timeoutsMs: TimeoutsMs
  stateOf(socket: Socket): ConnectionState
  pacedTurns: PacedTurns
  /** Called for a connection that is closed because its client abuses it. */
  onAbuse(socket: Socket): void
}

export function openHttp1(options: Http1Options): Server {
  const { timeoutsMs, onRequest } = options
  const server = createServer({
    // node:http counts the URL as part of the headers. The door limits URL and headers separately (request-head.ts).
    maxHeaderSize: maxHeaderBytes + maxUrlBytes,
    headersTimeout: timeoutsMs.headers,
    requestTimeout: timeoutsMs.request,
    keepAliveTimeout: 0, // idle-connections.ts closes idle connections
    connectionsCheckingInterval: timeoutsMs.checkInterval,
    requireHostHeader: false, // the door rejects a request without Host, with an error in our format
    optimizeEmptyRequests: true,
  })
  const parseErrors = openParseErrors({ ...options, lingerMs: timeoutsMs.linger })
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    if (isAdmitted(options, request, response)) onRequest(request, response)
  }
  // No maximum: by default, headers after the 2000th are silently dropped. `maxHeaderSize` limits them enough.
  server.maxHeadersCount = 0
  server.on('request', handle)
  // The code that reads the body sends 100 Continue, so a rejected request gets none.
  server.on('checkContinue', handle)
  server.on('checkExpectation', handle)
  server.on('clientError', parseErrors.onClientError)
  server.on('connect', parseErrors.onConnect)
  // An option of node:http that its types lack: a client that has closed its side still gets its response.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Starts the interval that enforces the timeouts, which otherwise starts with listen().
  server.emit('listening')
  return server
}

/**
 * False if the client has sent too many requests without reading the responses; its connection is then closed. After
 * too many refusals in a row, the connection is closed after this response. Its network is slowed down as well, unless
 * a web page of another site has caused a refusal: otherwise the page could slow down the network of its visitor.
 */
function isAdmitted(options: Http1Options, { socket }: IncomingMessage, response: ServerResponse): boolean {
  const state = options.stateOf(socket)
  const { latestResponse: previous } = state
  if (state.isStopped) return false
  state.latestResponse = response
  if (!previous) return true
  countIfRefusal(state, previous)
  if (state.refusals === maxRefusals) {
    response.shouldKeepAlive = false
    if (!state.isUsedByOtherSite) options.onAbuse(socket)
  }
  return previous.closed || isPipeliningAdmitted(options, socket, state, response)
}

function countIfRefusal(state: ConnectionState, response: ServerResponse): void {
  if (isRefusal(response)) {
    state.refusals++
    state.isUsedByOtherSite ||= isFromOtherSite(response.req)
  } else if (state.refusals > 0) {
    state.refusals = 0
    state.isUsedByOtherSite = false
  }
}

const isRefusal = ({ statusCode }: ServerResponse) => statusCode >= 400 && statusCode < 500

/**
 * Browsers state in Sec-Fetch-Site which site sends a request, and a page cannot change this
 * header. A program can set it to avoid the penalty, but it could avoid the penalty anyway: one
 * request that succeeds resets the count of refusals.
 */
function isFromOtherSite({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site']
  return site === 'cross-site' || site === 'same-site'
}

function isPipeliningAdmitted(
  { onAbuse, onRejected, requestIds, pacedTurns }: Http1Options,
  socket: Socket,
  state: ConnectionState,
  response: ServerResponse,
): boolean {
  if (state.unsentResponses >= maxUnsentResponses) {
    state.isStopped = true
    onRejected(
      requestIds.next(),
      tooManyRequests(`at most ${maxUnsentResponses} requests of a connection may wait for their responses`),
      socket.remoteAddress ?? '',
    )
    onAbuse(socket)
    socket.destroy()
    return false
  }
  state.unsentResponses++
  response.once('close', () => state.unsentResponses--)
  // Pacing starts in the next tick, because the parser is still parsing the bytes that were read with this request.
  if (!state.isPaced) process.nextTick(() => state.isPaced || paceRequests(socket, state, pacedTurns))
  return true
}
