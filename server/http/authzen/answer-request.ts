// The types that the endpoints of AuthZEN share.
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import type { Names } from './names.ts'
import type { JsonObject } from './read-object.ts'

/**
 * Calls a method of the API as the client. `make` creates the request of the method from the body
 * that the client sent; it is called after the client was authenticated.
 */
export type CallApi = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  make: (body: JsonObject) => MessageInitShape<I>,
) => Promise<MessageShape<O>>

/** Answers one request. The result is the body of the response, as a JSON value. */
export type AnswerRequest = (call: CallApi, names: Names) => Promise<unknown>
