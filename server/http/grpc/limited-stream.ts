// A stream whose chunks are checked before grpc-js gets them.
import type { Method } from '@stemma/api/method.ts'
import type { InterceptedStream } from './intercepted-stream.ts'
import type { MessageCounter } from './message-counter.ts'
import { openMessageCounter } from './message-counter.ts'
import { maxMessagesOf } from './request-faults.ts'

export type LimitedStream = InterceptedStream & { request: RequestState }

/** Called with a chunk of a request that is large or compressed, or belongs to a standard service. */
type Check = (stream: LimitedStream, chunk: Buffer) => void

export type RequestState = {
  check: Check
  method: Method | undefined
  authorization: string | undefined
  isCompressed: boolean
  /** Undefined if not every chunk is checked: for an uncompressed request to one of our own methods. */
  countMessages: MessageCounter | undefined
  maxMessages: number
  /** A request is `trusted` once its access token is verified. */
  kind: 'anonymous' | 'trusted'
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

export type RequestHeaders = {
  authorization?: string | undefined
  'grpc-encoding'?: string | string[] | undefined
}

/** The first bytes of each request, which are not checked. HTTP/2 does not extend the window of the stream for so few. */
const freeBytes = 16 * 1024

/** Must be called before the stream is passed to grpc-js. `method` is undefined for the standard services of gRPC. */
export function limitStream(
  watched: InterceptedStream,
  method: Method | undefined,
  path: string,
  { authorization, 'grpc-encoding': encoding = 'identity' }: RequestHeaders,
  check: Check,
): void {
  const isCompressed = encoding !== 'identity'
  const request: RequestState = {
    check,
    method,
    authorization,
    isCompressed,
    countMessages: isCompressed || !method ? openMessageCounter() : undefined,
    maxMessages: maxMessagesOf(method, path),
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
}

/** Replaces `on` of a stream until grpc-js listens to its chunks. All streams share this function and `onData`. */
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
  if (request.bytes > freeBytes || request.countMessages) request.check(this, chunk)
  if (!request.isRefused) request.receive?.(chunk)
}
