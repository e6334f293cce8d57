// A stream whose chunks are checked before they are passed to the reader of the call (unary-calls.ts or grpc-js).
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
  /** Undefined for an uncompressed request to our own methods: its messages are not counted. */
  messages: MessageCounter | undefined
  maxMessages: number
  /** A request is `trusted` once its access token is verified. */
  trustLevel: 'anonymous' | 'trusted'
  /** While this is true, the reader gets nothing, so that it decompresses nothing for an unknown caller. */
  isCheckingToken: boolean
  /** The chunks that arrived while the token was checked. */
  waitingChunks: Buffer[] | undefined
  /** Whether the request ended while the token was checked. node:http2 can end a stream that is paused. */
  isEndWaiting: boolean
  isRefused: boolean
  /** The bytes that have arrived. */
  bytes: number
  /**
   * The bytes that are counted against the limits for this request. Can be more than `bytes` if the request is
   * compressed.
   */
  reserved: number
  /** Networks and identity for which the bytes are counted (request-bytes.ts). Empty at first. */
  owners: readonly string[]
  originalOn: LimitedStream['on']
  /** The listeners of the reader for chunks and for the end. */
  receive: Listener | undefined
  end: (() => void) | undefined
}

type Listener = (chunk: Buffer) => void

export type RequestHeaders = {
  authorization?: string | undefined
  'grpc-encoding'?: string | string[] | undefined
}

/**
 * The number of bytes that are not checked at the start of an uncompressed request to our own
 * methods. The flow-control window of a stream is extended only after more bytes than these were
 * read, so a client can send no more than the initial window before the check.
 */
export const uncheckedBytes = 16 * 1024
const noOwners: readonly string[] = []

/** Must be called before the call starts. `method` is undefined for the standard services of gRPC. */
export function limitStream(
  intercepted: InterceptedStream,
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
    messages: isCompressed || !method ? openMessageCounter() : undefined,
    maxMessages: maxMessagesOf(method, path),
    trustLevel: 'anonymous',
    isCheckingToken: false,
    waitingChunks: undefined,
    isEndWaiting: false,
    isRefused: false,
    bytes: 0,
    reserved: 0,
    owners: noOwners,
    originalOn: intercepted.on as LimitedStream['on'], // `on` returns the stream
    receive: undefined,
    end: undefined,
  }
  const stream: LimitedStream = Object.assign(intercepted, { request })
  stream.on = onEvent as typeof stream.on // `on` has an overload for each event
}

/** Replaces `on` of a stream until the reader has added its listeners: first one for chunks, then one for the end. */
function onEvent(this: LimitedStream, event: string, listener: Listener & (() => void)): LimitedStream {
  const { request } = this
  if (event === 'data') {
    request.receive = listener
    return request.originalOn.call(this, 'data', onData)
  }
  // node:http2 itself adds a listener for the end, if the request ends while the call waits for its turn.
  if (event !== 'end' || !request.receive) return request.originalOn.call(this, event, listener)
  request.end = listener
  this.on = request.originalOn
  // A request without any bytes may end before its call starts.
  if (this.readableEnded) process.nextTick(() => onEnd.call(this))
  return this.on('end', onEnd)
}

function onData(this: LimitedStream, chunk: Buffer): void {
  const { request } = this
  request.bytes += chunk.length
  if (request.bytes > uncheckedBytes || request.messages) request.check(this, chunk)
  if (request.isRefused) return
  if (request.isCheckingToken) request.waitingChunks = [...(request.waitingChunks ?? []), chunk]
  else request.receive?.(chunk)
}

function onEnd(this: LimitedStream): void {
  const { request } = this
  if (request.isCheckingToken) request.isEndWaiting = true
  else request.end?.()
}

/** Passes on what arrived while the token was checked. */
export function receiveWaiting({ request }: LimitedStream): void {
  const { waitingChunks = [], receive, isEndWaiting, end } = request
  request.waitingChunks = undefined
  for (const chunk of waitingChunks) receive?.(chunk)
  if (isEndWaiting) end?.()
}
