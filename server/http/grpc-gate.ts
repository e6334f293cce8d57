// Stands before grpc-js, which answers some calls by itself and sets no bounds to others: gives every call a
// deadline, every answer the id of its request, and every error its details.
import type { Http2Server, IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import type { Server } from '@grpc/grpc-js'
import type { Method } from '@stemma/api/method.ts'
import { Code } from '../aip/code.ts'
import { deadlineExceeded, internal, malformed, StatusError } from '../aip/errors.ts'
import type { OnStray } from './door.ts'
import { requestIdOf, timeoutOf } from './door.ts'
import { statusBytes } from './grpc-status.ts'
import { errorBody } from './rest/error-body.ts'

export type GateOptions = {
  errorDomain: string
  /** The method that a path calls, unless it is of the services that come with gRPC. */
  methodAt(path: string): Method | undefined
  /** Resolves when what serves a path is there, where that is not there from the start. */
  prepare(path: string): Promise<void> | undefined
  /** How long a client may take nothing of a stream, in milliseconds. */
  stall: number
  /** How long a call may take, in milliseconds. */
  longest(method: Method | undefined): number
  onStray: OnStray
}

export type Gate = {
  /** Lets calls of ours end, and ends what would never end by itself. */
  drain(): void
  /** Looks after nothing any more. */
  stop(): void
}

type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number) => void

type Respond = ServerHttp2Stream['respond']

/** A stream that knows its request, and what it was before. */
type Guarded = ServerHttp2Stream & {
  requestId: string
  respondPlainly: Respond
  sendPlainTrailers: ServerHttp2Stream['sendTrailers']
}

const tick = 1000
const settings = { maxConcurrentStreams: 100, maxHeaderListSize: 16 * 1024 }

export function openGate(
  server: Server,
  { errorDomain, methodAt, prepare, stall, longest, onStray }: GateOptions,
): Gate {
  const http2 = http2Of(server)
  http2.updateSettings(settings)
  const [pass] = http2.listeners('stream') as OnStream[]
  if (!pass) throw new Error('grpc-js takes no streams')
  const endless = new Set<ServerHttp2Stream>()
  /** When each is given up. */
  const underWay = new Map<Guarded, number>()
  let isDraining = false
  // One clock for all: a timer for each call would cost more than its deadline is worth.
  const clock = setInterval(giveUp, tick).unref()

  http2.removeAllListeners('stream')
  http2.on('stream', (plain, headers, flags) => {
    const requestId = requestIdOf(headers)
    headers['x-request-id'] = requestId
    const stream = guard(plain, requestId)
    const path = headers[':path'] ?? ''
    const method = methodAt(path)
    try {
      if (!isGrpc(headers)) throw malformed('HTTP/2 carries gRPC only; use HTTP/1.1 for REST', 415)
      const timeout = timeoutOf(headers['grpc-timeout'], longest(method))
      if (!method) watch(stream)
      else if (headers['grpc-timeout'] !== undefined) headers['grpc-timeout'] = `${Math.ceil(timeout)}m`
      else underWay.set(stream, Date.now() + timeout)
      if (method?.isStream) stream.setTimeout(stall, () => stream.close(constants.NGHTTP2_CANCEL))
    } catch (error) {
      refuse(stream, error as StatusError, isGrpc(headers)) // nothing else is thrown here
      return
    }
    const prepared = method ? undefined : prepare(path)
    if (!prepared) pass(stream, headers, flags)
    else
      prepared.then(
        () => stream.destroyed || pass(stream, headers, flags),
        (error) => stream.destroyed || refuse(stream, internal(error), true),
      )
  })
  http2.on('session', (session) => {
    if (isDraining) session.close()
  })

  function watch(stream: ServerHttp2Stream): void {
    endless.add(stream)
    stream.once('close', () => endless.delete(stream))
  }

  /** Whatever grpc-js answers leaves through here. The same functions serve all streams: most live shortly. */
  function guard(plain: ServerHttp2Stream, requestId: string): Guarded {
    const before = { respondPlainly: plain.respond, sendPlainTrailers: plain.sendTrailers }
    const stream = Object.assign(plain, before, { requestId })
    stream.respond = respond
    stream.sendTrailers = sendTrailers
    stream.on('finish', onFinish)
    return stream
  }

  function respond(
    this: Guarded,
    headers: Parameters<Respond>[0] = {},
    options: Parameters<Respond>[1] = {},
  ) {
    // What comes of a call that was refused meanwhile comes too late.
    if (this.headersSent || this.destroyed) return
    const answer = withDetails(headers as OutgoingHttpHeaders, this.requestId)
    this.respondPlainly({ 'x-request-id': this.requestId, ...answer }, options)
  }

  function sendTrailers(this: Guarded, trailers: OutgoingHttpHeaders) {
    this.sendPlainTrailers(withDetails(trailers, this.requestId))
  }

  /** An answer that is whole does not wait for the rest of its request (RFC 9113 section 8.1). */
  function onFinish(this: Guarded) {
    underWay.delete(this)
    if (!this.readableEnded) this.close(constants.NGHTTP2_NO_ERROR)
  }

  /** Of calls that came without a deadline: those whose request never ends. Those that run are ended by the corridor. */
  function giveUp(): void {
    const now = Date.now()
    for (const [stream, time] of underWay) {
      const isCome = stream.destroyed || stream.readableEnded
      if (!isCome && time > now) continue
      underWay.delete(stream)
      if (!isCome) refuse(stream, deadlineExceeded(), true)
    }
  }

  function withDetails(answer: OutgoingHttpHeaders, requestId: string): OutgoingHttpHeaders {
    const code = Number(answer['grpc-status'] ?? Code.OK) as Code // grpc-js knows the same codes
    if (code === Code.OK || answer['grpc-status-details-bin'] !== undefined) return answer
    const error = errorOf(code, String(answer['grpc-message'] ?? ''))
    onStray(requestId, error)
    return { ...answer, ...statusHeaders(error) }
  }

  function statusHeaders(error: StatusError): OutgoingHttpHeaders {
    const { message, bytes } = statusBytes(error, errorDomain)
    return {
      'grpc-status': error.code,
      'grpc-message': encodeURI(message),
      'grpc-status-details-bin': Buffer.from(bytes).toString('base64'),
    }
  }

  function refuse(stream: Guarded, error: StatusError, isCall: boolean): void {
    onStray(stream.requestId, error)
    stream.on('error', () => {})
    stream.resume()
    if (isCall) {
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc+proto', ...statusHeaders(error) },
        { endStream: true },
      )
    } else {
      stream.respond({ ':status': error.http, 'content-type': 'application/json' })
      stream.end(errorBody(error, errorDomain, false))
    }
  }

  return {
    stop: () => clearInterval(clock),
    drain() {
      isDraining = true
      for (const stream of endless) stream.close(constants.NGHTTP2_CANCEL)
    },
  }
}

/** grpc-js keeps its HTTP/2 server to itself; there is one, because there is one injector. */
function http2Of(server: Server): Http2Server {
  const [http2] = (server as unknown as { http2Servers: Map<Http2Server, unknown> }).http2Servers.keys()
  if (!http2) throw new Error('grpc-js has no HTTP/2 server')
  return http2
}

const isGrpc = (headers: IncomingHttpHeaders) =>
  headers['content-type']?.startsWith('application/grpc') ?? false

/** Messages that cannot be read are the caller's fault, whatever grpc-js calls them. */
const unreadable = ['Failed to decompress message', 'Error deserializing request']

function errorOf(code: Code, sent: string): StatusError {
  if (code === Code.DEADLINE_EXCEEDED) return deadlineExceeded()
  const text = decodeText(sent)
  return unreadable.includes(text) ? malformed('the request cannot be read') : new StatusError(code, text)
}

function decodeText(sent: string): string {
  try {
    return decodeURI(sent)
  } catch {
    return sent
  }
}
