// Limits the requests that are kept in memory: a whole message is collected before the corridor authenticates the
// caller. The token of a large request is checked while the request arrives, and the bytes of all requests are limited
// per connection, network and identity, and in total. Nearly all requests are small; for these, the limits take only
// one addition and a few comparisons.
import { constants } from 'node:http2'
import type { Method } from '@stemma/api/method.ts'
import type { StatusError } from '../../aip/errors.ts'
import { asStatusError, tooManyRequests } from '../../aip/errors.ts'
import type { Caller } from '../../wire/caller.ts'
import type { MaybePromise } from '../../wire/maybe-promise.ts'
import type { InterceptedStream } from './intercepted-stream.ts'
import { rejectStream } from './intercepted-stream.ts'
import type { LimitedStream, RequestHeaders } from './limited-stream.ts'
import { limitStream, receiveWaiting, uncheckedBytes } from './limited-stream.ts'
import { openRequestBytes } from './request-bytes.ts'
import { requestFault } from './request-faults.ts'
import type { SessionGuard, SessionGuardOptions } from './session-guard.ts'

export type RequestLimitOptions = {
  /** Throws unless the Authorization header has a valid access token. */
  authenticate(authorization: string | undefined): MaybePromise<Identified>
}

type Identified = Pick<Caller, 'identity'>

export type RequestLimits = {
  /** Must be called before the call starts. `method` is undefined for the standard services of gRPC. */
  watch(stream: InterceptedStream, method: Method | undefined, path: string, headers: RequestHeaders): void
  /** Must be called when the stream is closed. */
  release(stream: InterceptedStream): void
}

/** Penalty points (session-guard.ts) of a call that exceeds a limit. */
const pointsOfExcess = 20
/** Penalty points of an invalid token: few, since the token of a harmless client may have expired. */
const pointsOfInvalidToken = 2

const tooLargeForConnection = () =>
  tooManyRequests('the requests of this connection are too large; send them one by one')
const tooLargeForOwner = () =>
  tooManyRequests('the requests of this identity or network are too large; send them one by one')
const tooLargeInTotal = () => tooManyRequests('the server receives too many large requests; try again later')

export function openRequestLimits(
  { authenticate, isProxy }: RequestLimitOptions & Pick<SessionGuardOptions, 'isProxy'>,
  guard: Pick<SessionGuard, 'penalize'>,
): RequestLimits {
  const requestBytes = openRequestBytes(isProxy)

  /** Rejects the call, and adds `points` to the penalty points of the connection. */
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

  function reserve(stream: LimitedStream): void {
    const exceeded = requestBytes.reserve(stream)
    const isAnonymous = stream.request.trustLevel === 'anonymous'
    if (exceeded === 'connection') refuse(stream, tooLargeForConnection(), isAnonymous ? pointsOfExcess : 0)
    // No points: other clients of the network may have sent most of the bytes.
    else if (exceeded === 'owner') refuse(stream, tooLargeForOwner(), 0)
    else if (exceeded === 'total') refuse(stream, tooLargeInTotal(), 0)
  }

  function trust(stream: LimitedStream, { identity }: Identified): void {
    requestBytes.trust(stream, identity)
    reserve(stream)
  }

  function checkToken(stream: LimitedStream): void {
    const { request } = stream
    try {
      const checked = authenticate(request.authorization)
      if (!(checked instanceof Promise)) {
        trust(stream, checked)
        return
      }
      request.isCheckingToken = true
      stream.pause()
      checked.then(
        (caller) => {
          request.isCheckingToken = false
          if (stream.destroyed || request.isRefused) return
          trust(stream, caller)
          if (request.isRefused) return
          stream.resume()
          receiveWaiting(stream)
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
    const { method, messages, bytes, isCompressed } = request
    messages?.add(chunk)
    const fault = requestFault(method, bytes, messages?.begun ?? 1, request.maxMessages)
    if (fault) refuse(stream, fault, pointsOfExcess)
    else if (method && !method.access?.open && request.trustLevel === 'anonymous') {
      if (!request.isCheckingToken) checkToken(stream)
    }
    // Health checks are smaller than `uncheckedBytes`, so they are answered even if other requests
    // have reached the limits.
    else if (bytes > uncheckedBytes || isCompressed) reserve(stream)
  }

  return {
    watch: (stream, method, path, headers) => limitStream(stream, method, path, headers, check),
    release: (stream) => requestBytes.release(stream as LimitedStream),
  }
}
