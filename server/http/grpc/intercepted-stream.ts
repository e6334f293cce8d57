// Completes the responses of grpc-js before they are sent: every response gets the request id, and every error that
// grpc-js creates itself gets the same details as ours.
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import { Code } from '../../aip/code.ts'
import { deadlineExceeded, malformed, StatusError } from '../../aip/errors.ts'
import type { DoorOptions } from '../door.ts'
import { errorBody } from '../rest/error-body.ts'
import type { GuardedStream } from './session-usage.ts'
import type { StatusWriter } from './status.ts'

type Respond = ServerHttp2Stream['respond']

type StreamOptions = Pick<DoorOptions, 'errorDomain' | 'addressOf' | 'onRejected'> & {
  statuses: StatusWriter
  onFinish(stream: InterceptedStream): void
  onClose(stream: InterceptedStream): void
}

export type InterceptedStream = GuardedStream & {
  requestId: string
  forwardedFor: string | undefined
  /** Whether the client got extra time, because the deadline passed while it was reading the reply. */
  hasExtraTime: boolean
  options: StreamOptions
  /** The methods of the stream before `interceptStream` replaced them. */
  originalRespond: Respond
  originalSendTrailers: ServerHttp2Stream['sendTrailers']
}

/** All streams share the same functions, which takes less time and memory than closures for each stream. */
export function interceptStream(
  original: ServerHttp2Stream,
  requestId: string,
  forwardedFor: string | undefined,
  options: StreamOptions,
): InterceptedStream {
  const stream = Object.assign(original, {
    originalRespond: original.respond,
    originalSendTrailers: original.sendTrailers,
    requestId,
    forwardedFor,
    hasExtraTime: false,
    options,
  }) as InterceptedStream // the session guard adds its fields before they are used
  stream.respond = respond
  stream.sendTrailers = sendTrailers
  stream.on('finish', onFinish)
  stream.on('close', onClose)
  return stream
}

function respond(
  this: InterceptedStream,
  headers: Parameters<Respond>[0] = {},
  options: Parameters<Respond>[1] = {},
) {
  // A call that was rejected in the meantime has its response already.
  if (this.headersSent || this.destroyed) return
  const detailed = withDetails(this, headers as OutgoingHttpHeaders)
  this.originalRespond({ 'x-request-id': this.requestId, ...detailed }, options)
}

function sendTrailers(this: InterceptedStream, trailers: OutgoingHttpHeaders) {
  this.originalSendTrailers(withDetails(this, trailers))
}

/** A complete response does not wait for the rest of its request (RFC 9113 section 8.1). */
function onFinish(this: InterceptedStream) {
  this.options.onFinish(this)
  if (!this.readableEnded) this.close(constants.NGHTTP2_NO_ERROR)
}

function onClose(this: InterceptedStream) {
  this.options.onClose(this)
}

function withDetails(stream: InterceptedStream, trailers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const code = Number(trailers['grpc-status'] ?? Code.OK) as Code // the numbers of grpc-js are those of google.rpc.Code
  if (code === Code.OK || trailers['grpc-status-details-bin'] !== undefined) return trailers
  const error = statusErrorOf(code, String(trailers['grpc-message'] ?? ''))
  reportRejected(stream, error)
  return { ...trailers, ...stream.options.statuses.trailers(error) }
}

function reportRejected(stream: InterceptedStream, error: StatusError): void {
  const { requestId, forwardedFor, session, options } = stream
  options.onRejected(requestId, error, options.addressOf(session?.socket.remoteAddress, forwardedFor))
}

/** Messages of grpc-js for requests that it cannot read. Its codes for these are replaced by INVALID_ARGUMENT. */
const unreadableMessages = ['Failed to decompress message', 'Error deserializing request']

function statusErrorOf(code: Code, encodedMessage: string): StatusError {
  if (code === Code.DEADLINE_EXCEEDED) return deadlineExceeded()
  const message = decodeMessage(encodedMessage)
  return unreadableMessages.includes(message)
    ? malformed('the request cannot be read')
    : new StatusError(code, message)
}

function decodeMessage(encoded: string): string {
  try {
    return decodeURI(encoded)
  } catch {
    return encoded
  }
}

/** Responds with an error in place of grpc-js: as a gRPC status, or as JSON to a client that does not use gRPC. */
export function rejectStream(stream: InterceptedStream, error: StatusError, isGrpc: boolean): void {
  const { errorDomain, statuses } = stream.options
  reportRejected(stream, error)
  stream.on('error', () => {})
  stream.resume()
  if (isGrpc) {
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc+proto', ...statuses.trailers(error) },
      { endStream: true },
    )
  } else {
    stream.respond({ ':status': error.http, 'content-type': 'application/json' })
    stream.end(errorBody(error, errorDomain))
  }
}
