import type { Message } from '@bufbuild/protobuf'
import type { Method } from '@stemma/api/method.ts'
import type { Demand } from '../policy/admit.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import type { Reply } from '../wire/reply.ts'

/** A call as its handler receives it. */
export type Call<Request extends Message = Message> = {
  method: Method
  request: Request
  /**
   * The form in which the reply is needed: JSON for REST calls, except those that have an
   * idempotency key or only validate; bytes for all others.
   */
  form: 'json' | 'bytes'
  /** The capabilities that the call requires. The handler checks them first, in the transaction that reads the data. */
  demand: Demand
  /** When the caller stops waiting, in milliseconds since 1970. */
  deadline: number
  /** The client's address. */
  address: string
  /** The Authorization header, for calls that accept other credentials than an access token. */
  authorization: string | undefined
  /** The If-Match header: the version of the resource that the caller has read. */
  ifMatch: string | undefined
  /** Aborted when the client of a stream has disconnected or the server stops. Undefined for other calls. */
  signal?: AbortSignal | undefined
  /** Undefined if the caller sent no idempotency key, or if the call creates nothing. */
  sentKey: SentKey | undefined
}

/** An idempotency key, and the call that it was sent with: for a call that v1 makes to v2, the call to v1. */
export type SentKey = {
  /** The Idempotency-Key header, not yet checked. */
  header: string
  method: Method
  request: Message
}

export type Handler = (call: Call<never>) => MaybePromise<Reply>

/** The handler of a method whose response is a stream. */
export type StreamHandler = (call: Call<never>) => AsyncIterable<Reply>

export type Endpoint = {
  method: Method
  handler: Handler | StreamHandler
  /**
   * Makes the same checks and the same reply as the handler, and changes nothing. Only for
   * methods that accept `validate_only`.
   */
  validator?: Handler
}
