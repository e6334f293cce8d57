// Limits the requests that grpc-js keeps in memory: it collects a whole message before the corridor authenticates the
// caller. The token of a large request is checked while the request arrives, and the bytes of all requests are limited
// per connection and in total. Small requests, which are nearly all, cost one addition and two comparisons.
import { constants } from 'node:http2'
import type { Method } from '@stemma/api/method.ts'
import type { StatusError } from '../../aip/errors.ts'
import { asStatusError, tooManyRequests } from '../../aip/errors.ts'
import type { MaybePromise } from '../../wire/maybe-promise.ts'
import type { InterceptedStream } from './intercepted-stream.ts'
import { rejectStream } from './intercepted-stream.ts'
import type { LimitedStream, RequestHeaders } from './limited-stream.ts'
import { limitStream } from './limited-stream.ts'
import { openRequestBytes } from './request-bytes.ts'
import { requestFault } from './request-faults.ts'
import type { SessionGuard } from './session-guard.ts'

export type RequestLimitOptions = {
  /** Throws unless the Authorization header has a valid access token. */
  authenticate(authorization: string | undefined): MaybePromise<unknown>
}

export type RequestLimits = {
  /** Must be called before the stream is passed to grpc-js. `method` is undefined for the standard services of gRPC. */
  watch(stream: InterceptedStream, method: Method | undefined, path: string, headers: RequestHeaders): void
  /** Must be called when the stream is closed. */
  release(stream: InterceptedStream): void
}

/** Penalty points (session-guard.ts) of a call that exceeds a limit. */
const pointsOfExcess = 20
/** Penalty points of an invalid token: few, since the token of a harmless client may have expired. */
const pointsOfInvalidToken = 2

const tooLargeTogether = () =>
  tooManyRequests('the requests of this connection are too large; send them one by one')
const tooManyLarge = () => tooManyRequests('the server receives too many large requests; try again later')

export function openRequestLimits(
  { authenticate }: RequestLimitOptions,
  guard: Pick<SessionGuard, 'penalize'>,
): RequestLimits {
  const requestBytes = openRequestBytes()

  /** Adds `points` to the penalty points of the connection. */
  function refuse(stream: LimitedStream, fault: StatusError, points: number): void {
    const { request } = stream
    if (request.isRefused || stream.destroyed) return
    request.isRefused = true
    const isAnswered = stream.headersSent
    rejectStream(stream, fault, true)
    if (isAnswered) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    requestBytes.release(stream)
    guard.penalize(stream, points)
  }

  function reserve(stream: LimitedStream, messages: number): void {
    const exceeded = requestBytes.reserve(stream, messages)
    const isAnonymous = stream.request.kind === 'anonymous'
    if (exceeded === 'connection') refuse(stream, tooLargeTogether(), isAnonymous ? pointsOfExcess : 0)
    else if (exceeded === 'total') refuse(stream, tooManyLarge(), 0)
  }

  function trust(stream: LimitedStream, messages: number): void {
    requestBytes.release(stream)
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
    const fault = requestFault(method, bytes, messages, request.maxMessages)
    if (fault) refuse(stream, fault, pointsOfExcess)
    else if (method && !method.access?.open && request.kind === 'anonymous') {
      if (!request.isCheckingToken) checkToken(stream, messages)
    } else reserve(stream, messages)
  }

  return {
    watch: (stream, method, path, headers) => limitStream(stream, method, path, headers, check),
    release: (stream) => requestBytes.release(stream as LimitedStream),
  }
}
