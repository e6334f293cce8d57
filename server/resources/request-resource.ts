import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { Call } from '../rpc/call.ts'
import type { Kind } from './kind.ts'

/** The resource in a request (its field `method.resource`); an empty one if it is not set. */
export function resourceIn<D extends DescMessage>(
  { desc }: Kind<D>,
  { method, request }: Call,
): MessageShape<D> {
  const field = method.resource
  const message = reflect(method.desc.input, request)
  if (field?.fieldKind !== 'message' || !message.isSet(field)) return create(desc)
  return message.get(field).message as MessageShape<D> // callers pass the kind of the method
}
