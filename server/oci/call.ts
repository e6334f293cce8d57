// Calls methods of the API on behalf of a registry client.
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { create, fromBinary } from '@bufbuild/protobuf'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen } from '../wire/maybe-promise.ts'
import { onClosed } from '../wire/on-closed.ts'
import type { Exchange, RegistryDependencies } from './door-context.ts'

/** `read` returns the request message. It is called after the client was authenticated. */
export function call<I extends DescMessage, O extends DescMessage>(
  { corridor, endpointOf }: RegistryDependencies,
  { envelope, response }: Exchange,
  method: DescMethodUnary<I, O>,
  read: () => MaybePromise<MessageInitShape<I>>,
): MaybePromise<MessageShape<O>> {
  const readRequest = () => andThen(read(), (request) => create(method.input, request))
  return andThen(corridor(endpointOf(method), envelope, readRequest), (reply) => {
    if (reply.onSent) onClosed(response, reply.onSent)
    if (reply.headers && !response.headersSent) response.setHeaders(new Map(Object.entries(reply.headers)))
    // The handler of this method made the message.
    if (reply.unencoded) return reply.unencoded.message as MessageShape<O>
    return fromBinary(method.output, reply.bytes())
  })
}
