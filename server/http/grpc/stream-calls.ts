// Handlers of grpc-js for the methods of the contract whose response is a stream. Messages pass as bytes.
import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js'
import type { Endpoint } from '../door.ts'
import type { StreamClient, Streams } from '../streams.ts'
import { decode } from './decode.ts'
import type { EnvelopeOptions } from './envelope.ts'
import { envelopeOf } from './envelope.ts'
import type { InterceptedStream } from './intercepted-stream.ts'
import type { StatusWriter } from './status.ts'

export type StreamHandlerOptions<E extends Endpoint> = EnvelopeOptions & {
  statuses: StatusWriter
  streams: Streams<E>
}

type StreamCall = ServerWritableStream<Buffer, Uint8Array>

export function streamHandler<E extends Endpoint>(
  endpoint: E,
  options: StreamHandlerOptions<E>,
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
    streams.run(client, endpoint, envelopeOf(streamOf(call), options), readRequest).catch(fail)
  }
}

/** grpc-js does not expose the stream of a call. */
const streamOf = (call: StreamCall) =>
  (call as unknown as { call: { stream: InterceptedStream } }).call.stream
