// Receives every HTTP/2 stream before grpc-js, gives it a deadline and a request id, and starts its
// call when it is its turn. unary-calls.ts answers our own unary calls, and grpc-js all others.
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import type { Server } from '@grpc/grpc-js'
import type { Method } from '@stemma/api/method.ts'
import type { StatusError } from '../../aip/errors.ts'
import { deadlineExceeded, internal, malformed, noSuchMethod, tooManyRequests } from '../../aip/errors.ts'
import type { DoorOptions } from '../door.ts'
import { maxHeaderBytes, minBytesPerSecond } from '../listen/limits.ts'
import { timeoutOf } from '../timeout.ts'
import type { PartyOptions } from '../turns/party.ts'
import { partyOf } from '../turns/party.ts'
import type { Turns } from '../turns/turns.ts'
import type { InterceptedStream } from './intercepted-stream.ts'
import { completeResponses, interceptStream, rejectStream } from './intercepted-stream.ts'
import type { RequestDeadlines } from './request-deadlines.ts'
import { openRequestDeadlines } from './request-deadlines.ts'
import type { RequestLimitOptions } from './request-limits.ts'
import { openRequestLimits } from './request-limits.ts'
import type { Route } from './services.ts'
import type { SessionGuardOptions } from './session-guard.ts'
import { openSessionGuard } from './session-guard.ts'
import { isHealthWatch, isStandardPath } from './standard-services.ts'
import type { StatusWriter } from './status.ts'
import type { AnswerCall } from './unary-calls.ts'

export type InterceptorOptions = DoorOptions &
  RequestLimitOptions &
  PartyOptions &
  SessionGuardOptions & {
    turns: Turns
    statuses: StatusWriter
    /** Undefined for the standard services of gRPC (health and reflection) and for unknown paths. */
    routeAt(path: string): Route | undefined
    /** Resolves when the standard service of a path is loaded; undefined for other paths. */
    loadStandardService(path: string): Promise<void> | undefined
    /** How long a stream may be idle before it is closed, in milliseconds. */
    streamIdleMs: number
    /** How long a call may take, in milliseconds. */
    maxDuration(method: Pick<Method, 'isStream'>): number
    now(): number
  }

export type Interceptor = {
  /** Lets our own calls finish, and closes streams of the standard services, which would otherwise stay open. */
  drain(): void
  stop(): void
}

type OnStream = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void

/** The state of an interceptor. `standardStreams` are the open streams of the standard services. */
type State = {
  deadlines: RequestDeadlines<InterceptedStream>
  standardStreams: Set<ServerHttp2Stream>
  isDraining: boolean
}

/** Maximum number for each connection. Limited because the standard services need no access token. */
const maxStandardStreams = 20

const http2Settings = { maxConcurrentStreams: 100, maxHeaderListSize: maxHeaderBytes }

export function openInterceptor(server: Server, options: InterceptorOptions): Interceptor {
  const { errorDomain, statuses, addressOf, onRejected, requestIds, loadStandardService } = options
  const state = openState(options)
  const onFinish = state.deadlines.delete
  const guard = openSessionGuard(options)
  const limits = openRequestLimits(options, guard)
  const onClose = (stream: InterceptedStream) => {
    limits.release(stream)
    guard.close(stream)
  }
  const streamOptions = { errorDomain, statuses, addressOf, onRejected, onFinish, onClose }
  const http2 = http2ServerOf(server)
  http2.updateSettings(http2Settings)
  const grpcListener = replaceStreamListener(http2, (original, headers, flags, rawHeaders) => {
    // A stream that was reset with NO_ERROR is closed, but not destroyed until it is read.
    if (original.destroyed || original.closed) {
      original.on('error', () => {}) // emitted if the client reset the stream with an error code
      guard.onReset(original)
      original.destroy()
      return
    }
    const requestId = requestIds.of(headers)
    const stream = interceptStream(original, headers, requestId, streamOptions)
    const path = headers[':path'] ?? ''
    const { method, answer } = options.routeAt(path) ?? noRoute
    const fault = guard.open(stream, rawHeaders)
    if (fault) {
      rejectStream(stream, fault, isGrpc(headers))
      return
    }
    if (!method && !isStandardPath(path) && isGrpc(headers)) {
      rejectStream(stream, noSuchMethod(), true)
      return
    }
    try {
      limitDuration(stream, headers, method, path, state, options)
    } catch (error) {
      rejectStream(stream, error as StatusError, isGrpc(headers)) // limitDuration throws only StatusErrors
      return
    }
    const loading = method ? undefined : loadStandardService(path)
    const passToGrpcJs = () => {
      completeResponses(stream)
      grpcListener(stream, headers, flags, rawHeaders)
    }
    const startCall = () => {
      limits.watch(stream, method, path, headers)
      startInTurn(options, stream, answer ?? passToGrpcJs)
    }
    if (!loading) {
      startCall()
      return
    }
    loading.then(
      () => stream.destroyed || startCall(),
      (error) => stream.destroyed || rejectStream(stream, internal(error), true),
    )
  })
  http2.on('session', (session) => {
    guard.watch(session)
    if (state.isDraining) session.close()
  })
  return {
    stop() {
      state.deadlines.stop()
      guard.stop()
    },
    drain() {
      state.isDraining = true
      for (const stream of state.standardStreams) stream.close(constants.NGHTTP2_CANCEL)
    },
  }
}

function openState({ streamIdleMs, now }: InterceptorOptions): State {
  const standardStreams = new Set<ServerHttp2Stream>()
  const deadlines = openRequestDeadlines<InterceptedStream>({
    onExceeded: (stream) => rejectStream(stream, deadlineExceeded(), true),
    onGraceEnded(stream) {
      // A large reply of our own methods may still be in transfer after the deadline. Its client gets extra time once,
      // enough to read it at the minimum rate.
      const isSendingReply = !standardStreams.has(stream) && stream.readableEnded
      if (!isSendingReply || stream.hasExtraTime) {
        stream.close(constants.NGHTTP2_CANCEL)
        return
      }
      stream.hasExtraTime = true
      closeIfIdle(stream, streamIdleMs)
      deadlines.add(stream, streamIdleMs + (stream.replyBytes / minBytesPerSecond) * 1000)
    },
    now,
  })
  return { deadlines, standardStreams, isDraining: false }
}

const noRoute = { method: undefined, answer: undefined }

/** Tells `Turns.run` that the call goes on in later event loop turns, as all gRPC calls do. */
const answeredLater = Promise.resolve()

/** A call may be closed or rejected while it waits for its turn. */
function startInTurn(
  options: PartyOptions & Pick<InterceptorOptions, 'turns'>,
  stream: InterceptedStream,
  start: AnswerCall,
): void {
  let isStarted = false
  options.turns.run(
    () => partyOf(options, stream.headers, stream.session?.socket.remoteAddress),
    () => {
      isStarted = true
      if (stream.destroyed || stream.headersSent) return undefined
      start(stream)
      return answeredLater
    },
  )
  // Without this, a stream that its client resets with NO_ERROR would count as an open call until its turn.
  if (!isStarted) stream.once('aborted', () => isStarted || stream.destroy())
}

/** grpc-js does not expose its HTTP/2 server. There is exactly one, for the connection injector. */
function http2ServerOf(server: Server): Http2Server {
  const [http2] = (server as unknown as { http2Servers: Map<Http2Server, unknown> }).http2Servers.keys()
  if (!http2) throw new Error('grpc-js has no HTTP/2 server')
  return http2
}

/** Returns the listener of grpc-js. */
function replaceStreamListener(http2: Http2Server, listener: OnStream): OnStream {
  const [original] = http2.listeners('stream') as OnStream[]
  if (!original) throw new Error('grpc-js has no listener for streams')
  http2.removeAllListeners('stream')
  http2.on('stream', listener)
  return original
}

/**
 * Sets the deadline of a call. Throws a StatusError if the request is not gRPC, its timeout is malformed, or the
 * connection has too many calls of the standard services.
 */
function limitDuration(
  stream: InterceptedStream,
  headers: IncomingHttpHeaders,
  method: Method | undefined,
  path: string,
  { deadlines, standardStreams }: State,
  { maxDuration, streamIdleMs, now }: InterceptorOptions,
): void {
  if (!isGrpc(headers)) throw malformed('HTTP/2 is for gRPC only; use HTTP/1.1 for REST', 415)
  const timeout = timeoutOf(headers['grpc-timeout'], maxDuration(method ?? standardMethodAt(path)))
  if (!method) {
    const { usage } = stream
    if (usage.standardStreams >= maxStandardStreams)
      throw tooManyRequests(
        `a connection may have at most ${maxStandardStreams} open calls of health and reflection`,
      )
    usage.standardStreams++
    standardStreams.add(stream)
    stream.once('close', () => {
      usage.standardStreams--
      standardStreams.delete(stream)
    })
  }
  stream.deadline = now() + timeout
  deadlines.add(stream, timeout)
  // grpc-js enforces the timeout of streams. Those of the standard services always get one, because they may be endless.
  if (!method || (method.isStream && headers['grpc-timeout'] !== undefined))
    headers['grpc-timeout'] = `${Math.ceil(timeout)}m`
  if (method?.isStream) closeIfIdle(stream, streamIdleMs)
}

const closeIfIdle = (stream: InterceptedStream, idleMs: number) =>
  void stream.setTimeout(idleMs, () => stream.close(constants.NGHTTP2_CANCEL))

const standardMethodAt = (path: string) => ({ isStream: isHealthWatch(path) })

const isGrpc = (headers: IncomingHttpHeaders) =>
  headers['content-type']?.startsWith('application/grpc') ?? false
