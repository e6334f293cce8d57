// The HTTP/2 stream of a call: its state, and the errors that it is answered with.
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import { Code } from '../../aip/code.ts'
import { deadlineExceeded, malformed, StatusError } from '../../aip/errors.ts'
import type { DoorOptions } from '../door.ts'
import { forwardedFor } from '../door.ts'
import { errorBody } from '../rest/error-body.ts'
import type { GuardedStream } from './session-usage.ts'
import type { StatusWriter } from './status.ts'

type Respond = ServerHttp2Stream['respond']

type StreamOptions = Pick<DoorOptions, 'errorDomain' | 'addressOf' | 'onRejected'> & {
  statuses: StatusWriter
  onFinish(stream: InterceptedStream): void
  onClose(stream: InterceptedStream): void
}

/** The stream of a call. */
export type InterceptedStream = GuardedStream & {
  headers: IncomingHttpHeaders
  requestId: string
  /** In milliseconds since 1970. Set before the call starts. */
  deadline: number
  /** Whether the client got extra time, because the deadline passed while it was reading the reply. */
  hasExtraTime: boolean
  options: StreamOptions
}

/** All streams share the same functions, which takes less time and memory than closures for each stream. */
export function interceptStream(
  original: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  requestId: string,
  options: StreamOptions,
): InterceptedStream {
  const stream = original as InterceptedStream // the session guard adds its fields before they are used
  stream.headers = headers
  stream.requestId = requestId
  stream.deadline = 0
  stream.hasExtraTime = false
  stream.options = options
  stream.on('error', ignoreError)
  stream.on('finish', onFinish)
  stream.on('close', onClose)
  return stream
}

/** node:http2 closes a stream after an error. */
function ignoreError() {}

/** A stream that is passed to grpc-js, with the original methods that `completeResponses` has replaced. */
type GrpcJsStream = InterceptedStream & {
  originalRespond: Respond
  originalSendTrailers: ServerHttp2Stream['sendTrailers']
}

/** Completes the responses of grpc-js: each gets the request id, and each error the same details as ours. */
export function completeResponses(stream: InterceptedStream): void {
  const grpcJsStream = stream as GrpcJsStream // the next two lines add the fields
  grpcJsStream.originalRespond = stream.respond
  grpcJsStream.originalSendTrailers = stream.sendTrailers
  stream.respond = respond
  stream.sendTrailers = sendTrailers
}

function respond(
  this: GrpcJsStream,
  headers: Parameters<Respond>[0] = {},
  options: Parameters<Respond>[1] = {},
) {
  if (!canRespond(this)) return
  const detailed = withDetails(this, headers as OutgoingHttpHeaders)
  this.originalRespond({ 'x-request-id': this.requestId, ...detailed }, options)
}

function sendTrailers(this: GrpcJsStream, trailers: OutgoingHttpHeaders) {
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
  const { requestId, headers, session, options } = stream
  options.onRejected(
    requestId,
    error,
    options.addressOf(session?.socket.remoteAddress, forwardedFor(headers)),
  )
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

/** Whether the stream is open and its response has not begun. A call that was rejected has its response already. */
export const canRespond = ({ headersSent, closed, destroyed }: InterceptedStream) =>
  !headersSent && !closed && !destroyed

/** Rejects a call before the corridor: with a gRPC status, or with JSON for a client that does not use gRPC. */
export function rejectStream(stream: InterceptedStream, error: StatusError, isGrpc: boolean): void {
  const { requestId, options } = stream
  reportRejected(stream, error)
  stream.resume()
  if (isGrpc) sendError(stream, error)
  else if (canRespond(stream)) {
    stream.respond({ ':status': error.http, 'content-type': 'application/json', 'x-request-id': requestId })
    stream.end(errorBody(error, options.errorDomain))
  }
}

/** Ends a call with a gRPC status, unless its response has begun. */
export function sendError(stream: InterceptedStream, error: StatusError): void {
  const { requestId, options } = stream
  if (!canRespond(stream)) return
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc+proto',
      'x-request-id': requestId,
      ...options.statuses.trailers(error),
    },
    { endStream: true },
  )
}
