import type { Message } from '@bufbuild/protobuf'
import type { Method } from '@stemma/api/method.ts'
import type { Demand } from '../policy/admit.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import type { Reply } from '../wire/reply.ts'

/** A request on its way to the resource that answers it. */
export type Call<Request extends Message = Message> = {
  method: Method
  request: Request
  /** The form in which the door will ask for the answer. */
  form: 'json' | 'bytes'
  /** What the caller must hold. The resource reads it in the moment of its data, as its first step. */
  demand: Demand
  /** When nobody waits for the answer any more, in milliseconds. */
  deadline: number
  /** Where the call comes from, as far as the connection tells. */
  address: string
  /** The header as it came, for calls that take another credential than an access token. */
  authorization: string | undefined
  /** What the caller has seen of the resource, if it says so. */
  ifMatch: string | undefined
}

export type Handler = (call: Call<never>) => MaybePromise<Reply>

/** Answers a method whose answer is a stream. */
export type StreamHandler = (call: Call<never>) => AsyncIterable<Reply>

/** A method of the contract and what answers it. */
export type Endpoint = { method: Method; handler: Handler | StreamHandler }
