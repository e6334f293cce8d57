// Handlers of grpc-js for the methods of the contract. Messages pass as bytes: a request is decoded after the caller is
// authenticated, and a response may be the bytes of a stored row.
import type { ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import type { Message } from '@bufbuild/protobuf'
import { fromBinary } from '@bufbuild/protobuf'
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  ServerUnaryCall,
  ServerWritableStream,
} from '@grpc/grpc-js'
import { Metadata } from '@grpc/grpc-js'
import type { Method } from '@stemma/api/method.ts'
import { malformed, replayedHeader } from '../../aip/errors.ts'
import type { Corridor, Envelope } from '../../wire/envelope.ts'
import { andThen, recover } from '../../wire/maybe-promise.ts'
import type { Reply } from '../../wire/reply.ts'
import { formatWarnings, warningHeader } from '../../wire/warning.ts'
import type { DoorOptions, Endpoint } from '../door.ts'
import { defaultTimeoutsMs } from '../listen/timeouts.ts'
import type { StreamClient, Streams } from '../streams.ts'
import { countReply } from './session-usage.ts'
import type { StatusWriter } from './status.ts'

export type HandlerOptions<E extends Endpoint> = Pick<DoorOptions, 'addressOf'> & {
  statuses: StatusWriter
  corridor: Corridor<E>
  streams: Streams<E>
  /** How long a call may take, in milliseconds. */
  maxDuration(method: Pick<Method, 'isStream'>): number
  /** Must be Date.now, from which grpc-js computes the deadlines of calls. */
  now(): number
}

type UnaryCall = ServerUnaryCall<Buffer, Uint8Array>
type StreamCall = ServerWritableStream<Buffer, Uint8Array>

export function unaryHandler<E extends Endpoint>(
  endpoint: E,
  options: HandlerOptions<E>,
): handleUnaryCall<Buffer, Uint8Array> {
  const { corridor, statuses } = options
  return (call, callback) => {
    const readRequest = () => decode(endpoint.method, call.request)
    void recover(
      () =>
        andThen(corridor(endpoint, envelopeOf(call, endpoint, options), readRequest), (reply) => {
          const bytes = reply.bytes()
          const stream = streamOf(call)
          countReply(stream, bytes.length, reply.onSent !== undefined)
          if (reply.onSent) watchLargeReply(stream, reply.onSent)
          callback(null, bytes, trailerOf(reply))
        }),
      (thrown) => callback(statuses.serviceError(thrown)),
    )
  }
}

/** grpc-js does not expose the stream of a call. */
const streamOf = (call: UnaryCall) => (call as unknown as { call: { stream: ServerHttp2Stream } }).call.stream

/** Calls `onSent` when the call ends. Cancels the call if its client reads nothing for a while. */
function watchLargeReply(stream: ServerHttp2Stream, onSent: () => void): void {
  if (stream.closed || stream.destroyed) {
    onSent()
    return
  }
  stream.once('close', onSent)
  stream.setTimeout(defaultTimeoutsMs.idle, () => stream.close(constants.NGHTTP2_CANCEL))
}

export function streamHandler<E extends Endpoint>(
  endpoint: E,
  options: HandlerOptions<E>,
): handleServerStreamingCall<Buffer, Uint8Array> {
  const { streams, statuses } = options
  return (call) => {
    const fail = (thrown: unknown) => void call.emit('error', statuses.serviceError(thrown))
    const client: StreamClient = {
      open: () => true,
      write: (reply, onWritten) => void call.write(reply.bytes(), () => onWritten()),
      end: () => void call.end(),
      fail,
      onDisconnect: (listener) => void call.once('cancelled', listener),
    }
    const readRequest = () => decode(endpoint.method, call.request)
    streams.run(client, endpoint, envelopeOf(call, endpoint, options), readRequest).catch(fail)
  }
}

function decode({ desc }: Method, bytes: Uint8Array): Message {
  try {
    // Unknown fields are dropped: they would be stored unchecked, and a later contract may give them a meaning.
    return fromBinary(desc.input, bytes, { readUnknownFields: false })
  } catch {
    throw malformed(`the request is not a well-formed ${desc.input.typeName}`)
  }
}

function trailerOf({ etag, isReplayed, warnings, headers }: Reply): Metadata | undefined {
  if (etag === undefined && !isReplayed && !warnings && !headers) return undefined
  const trailer = new Metadata()
  if (etag !== undefined) trailer.set('etag', etag)
  if (isReplayed) trailer.set(replayedHeader, 'true')
  if (warnings) trailer.set(warningHeader, formatWarnings(warnings))
  if (headers) for (const [name, value] of Object.entries(headers)) trailer.set(name, value)
  return trailer
}

/** Joins several values with commas, as node:http does. The result is not a valid key, so such a call is refused. */
const joinValues = (values: readonly (string | Buffer)[]) =>
  values.length === 0 ? undefined : values.join(', ')

/** The interceptor has set the request id, and limited the deadline if the client sent one. */
function envelopeOf<E extends Endpoint>(
  call: UnaryCall | StreamCall,
  { method }: Endpoint,
  { addressOf, maxDuration, now }: HandlerOptions<E>,
): Envelope {
  const { metadata } = call
  return {
    door: 'grpc',
    address: addressOf(call.getPeer().replace(/:\d+$/, ''), metadata.get('x-forwarded-for').join(',')),
    requestId: String(metadata.get('x-request-id')[0]),
    authorization: metadata.get('authorization')[0]?.toString(),
    timeout: Math.min(maxDuration(method), Math.max(0, Number(call.getDeadline()) - now())),
    ifMatch: metadata.get('if-match')[0]?.toString(),
    idempotencyKey: joinValues(metadata.get('idempotency-key')),
    userAgent: metadata.get('user-agent')[0]?.toString(),
  }
}
