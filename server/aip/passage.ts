// What passes between the doors and the corridor behind them, stated where both can see it.
import type { Message } from '@bufbuild/protobuf'
import type { Soon } from './soon.ts'

/** What a door knows of a call before it has read the request. */
export type Envelope = {
  door: 'rest' | 'grpc'
  requestId: string
  authorization: string | undefined
  /** Where the call comes from, as far as the connection tells. */
  address: string
  /** How long the caller waits, in milliseconds. */
  timeout: number
  /** What the caller has seen of the resource, if it says so (RFC 9110, If-Match). */
  ifMatch: string | undefined
}

/** With how many bytes it has, which is dear to count where a text is long. */
export type Json = { text: string; size: number }

export const asJson = (text: string): Json => ({ text, size: Buffer.byteLength(text) })

/** An answer that each door asks for in its own form. */
export type Reply = {
  json(): Json
  bytes(): Uint8Array
  /** The entity tag of the resource, where the answer is one. */
  etag?: string
}

/** The one way that every call goes. The request is read once the caller is known. */
export type Corridor<Endpoint> = (
  endpoint: Endpoint,
  envelope: Envelope,
  readRequest: () => Soon<Message>,
) => Soon<Reply>

/**
 * The way of calls that are answered by documents, each made when it is asked for. Whoever wants no more of them
 * says so: by `return` that it was enough, by `throw` what came between.
 */
export type StreamCorridor<Endpoint> = (
  ...call: Parameters<Corridor<Endpoint>>
) => AsyncGenerator<Reply, void, void>
