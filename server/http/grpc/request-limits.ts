// Limits the requests that grpc-js keeps in memory: it collects a whole message before the corridor authenticates the
// caller. The token of a large request is checked while the request arrives, and the bytes of all requests are limited
// per connection and in total. Small requests, which are nearly all, cost one addition and two comparisons.
import { constants } from 'node:http2'
import type { Method } from '@stemma/api/method.ts'
import type { StatusError } from '../../aip/errors.ts'
import { asStatusError, malformed, tooLarge, tooManyRequests } from '../../aip/errors.ts'
import type { MaybePromise } from '../../wire/maybe-promise.ts'
import type { InterceptedStream } from './intercepted-stream.ts'
import { rejectStream } from './intercepted-stream.ts'
import type { MessageCounter } from './message-counter.ts'
import { openMessageCounter } from './message-counter.ts'
import type { SessionGuard } from './session-guard.ts'
import { isReflection } from './standard-services.ts'

export type RequestLimitOptions = {
  /** Throws unless the Authorization header has a valid access token. */
  authenticate(authorization: string | undefined): MaybePromise<unknown>
}

export type RequestLimits = {
  /** Must be called before the stream is passed to grpc-js. `method` is undefined for the standard services of gRPC. */
  watch(
    stream: InterceptedStream,
    method: Method | undefined,
    path: string,
    headers: { authorization?: string | undefined; 'grpc-encoding'?: string | string[] | undefined },
  ): void
  /** Must be called when the stream is closed. */
  release(stream: InterceptedStream): void
}

/** A request is `trusted` once its access token is verified. */
type Kind = 'anonymous' | 'trusted'

type LimitedStream = InterceptedStream & { request: RequestState }

type RequestState = {
  limits: { check(stream: LimitedStream, chunk: Buffer): void }
  method: Method | undefined
  authorization: string | undefined
  isCompressed: boolean
  /** Undefined if not every chunk is checked: for an uncompressed request to one of our own methods. */
  countMessages: MessageCounter | undefined
  maxMessages: number
  kind: Kind
  isCheckingToken: boolean
  isRefused: boolean
  bytes: number
  /** The bytes of this request that are counted against the limits; more than `bytes` if it is compressed. */
  reserved: number
  originalOn: LimitedStream['on']
  /** The listener of grpc-js for chunks. */
  receive: Listener | undefined
}

type Listener = (chunk: Buffer) => void

/** The first bytes of each request are not counted: too few for HTTP/2 to extend the window of the stream. */
const freeBytes = 16 * 1024
export const maxMessageBytes = 4 * 1024 * 1024
const maxConnectionBytes = { anonymous: 4 * 1024 * 1024, trusted: 16 * 1024 * 1024 }
const maxTotalBytes = { anonymous: 32 * 1024 * 1024, trusted: 64 * 1024 * 1024 }
/** A message compressed with deflate can be this many times as large when it is decompressed. */
const maxInflation = 1032
/** The largest request to a standard service, over all its messages, which contain only names. */
const maxStandardBytes = 64 * 1024
const maxReflectionMessages = 1000
/** Penalty points (session-guard.ts) of a call that exceeds a limit. */
const pointsOfExcess = 20
/** Penalty points of an invalid token: few, since the token of a harmless client may have expired. */
const pointsOfInvalidToken = 2

export function openRequestLimits(
  { authenticate }: RequestLimitOptions,
  guard: Pick<SessionGuard, 'penalize'>,
): RequestLimits {
  const totals = { anonymous: 0, trusted: 0 }

  function add({ request: { kind }, usage }: LimitedStream, bytes: number): void {
    usage.requestBytes[kind] += bytes
    totals[kind] += bytes
  }

  function release(stream: LimitedStream): void {
    const { request } = stream as Partial<LimitedStream>
    if (!request || request.reserved === 0) return
    add(stream, -request.reserved)
    request.reserved = 0
  }

  /** Adds `points` to the penalty points of the connection. */
  function refuse(stream: LimitedStream, fault: StatusError, points: number): void {
    const { request } = stream
    if (request.isRefused || stream.destroyed) return
    request.isRefused = true
    const isAnswered = stream.headersSent
    rejectStream(stream, fault, true)
    if (isAnswered) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    release(stream)
    guard.penalize(stream, points)
  }

  function reserve(stream: LimitedStream, messages: number): void {
    const { request, usage } = stream
    const { kind, bytes, isCompressed } = request
    const size = isCompressed ? Math.min(bytes * maxInflation, messages * maxMessageBytes) : bytes
    add(stream, size - request.reserved)
    request.reserved = size
    if (usage.requestBytes[kind] > maxConnectionBytes[kind])
      refuse(
        stream,
        tooManyRequests('the requests of this connection are too large; send them one by one'),
        kind === 'anonymous' ? pointsOfExcess : 0,
      )
    else if (totals[kind] > maxTotalBytes[kind])
      refuse(stream, tooManyRequests('the server receives too many large requests; try again later'), 0)
  }

  function trust(stream: LimitedStream, messages: number): void {
    release(stream)
    stream.request.kind = 'trusted'
    reserve(stream, messages)
  }

  function checkToken(stream: LimitedStream, messages: number): void {
    const { request } = stream
    try {
      const checked = authenticate(request.authorization)
      if (!(checked instanceof Promise)) {
        trust(stream, messages)
        return
      }
      request.isCheckingToken = true
      stream.pause()
      checked.then(
        () => {
          request.isCheckingToken = false
          if (stream.destroyed) return
          trust(stream, messages)
          stream.resume()
        },
        (error) => refuse(stream, asStatusError(error), pointsOfInvalidToken),
      )
    } catch (error) {
      refuse(stream, asStatusError(error), pointsOfInvalidToken)
    }
  }

  function check(stream: LimitedStream, chunk: Buffer): void {
    const { request } = stream
    if (request.isRefused) return
    const { method, countMessages, bytes } = request
    const messages = countMessages?.(chunk) ?? 1
    const fault = faultOf(method, bytes, messages, request.maxMessages)
    if (fault) refuse(stream, fault, pointsOfExcess)
    else if (method && !method.access?.open && request.kind === 'anonymous') {
      if (!request.isCheckingToken) checkToken(stream, messages)
    } else reserve(stream, messages)
  }

  const limits = { check }
  return {
    watch(watched, method, path, { authorization, 'grpc-encoding': encoding = 'identity' }) {
      const isCompressed = encoding !== 'identity'
      const request: RequestState = {
        limits,
        method,
        authorization,
        isCompressed,
        countMessages: isCompressed || !method ? openMessageCounter() : undefined,
        maxMessages: !method && isReflection(path) ? maxReflectionMessages : 1,
        kind: 'anonymous',
        isCheckingToken: false,
        isRefused: false,
        bytes: 0,
        reserved: 0,
        originalOn: watched.on as LimitedStream['on'], // `on` returns the stream
        receive: undefined,
      }
      const stream: LimitedStream = Object.assign(watched, { request })
      stream.on = onEvent as typeof stream.on // `on` has an overload for each event
    },
    release: (stream) => release(stream as LimitedStream), // has no `request` if it was refused before `watch`
  }
}

/** Replaces `on` of a stream until grpc-js listens to its chunks. All streams share it, and `onData`. */
function onEvent(this: LimitedStream, event: string, listener: Listener): LimitedStream {
  const { request } = this
  if (event !== 'data') return request.originalOn.call(this, event, listener)
  request.receive = listener
  this.on = request.originalOn
  return this.on('data', onData)
}

function onData(this: LimitedStream, chunk: Buffer): void {
  const { request } = this
  request.bytes += chunk.length
  if (request.bytes > freeBytes || request.countMessages) request.limits.check(this, chunk)
  if (!request.isRefused) request.receive?.(chunk)
}

function faultOf(
  method: Method | undefined,
  bytes: number,
  messages: number,
  maxMessages: number,
): StatusError | undefined {
  // grpc-js would decompress all messages of a chunk before it refuses the second.
  if (messages > maxMessages)
    return maxMessages === 1
      ? malformed('the request must be exactly one message')
      : tooLarge(`a call may send at most ${maxMessages} messages; start another call`, 413)
  if (!method && bytes > maxStandardBytes)
    return tooLarge(`the request of this service must be at most ${maxStandardBytes} bytes`, 413)
  return undefined
}
