import type { Message } from '@bufbuild/protobuf'
import { fromBinary } from '@bufbuild/protobuf'
import type { Method } from '@stemma/api/method.ts'
import { malformed, tooLarge } from '../../aip/errors.ts'
import { hasTooManyValues, maxValues } from './value-limit.ts'

/** Decodes the request of a method. */
export function decode({ desc }: Method, bytes: Uint8Array): Message {
  try {
    // Unknown fields are dropped: they would be stored unchecked, and a later contract may give them a meaning.
    if (!hasTooManyValues(desc.input, bytes))
      return fromBinary(desc.input, bytes, { readUnknownFields: false })
  } catch {
    throw malformed(`the request is not a well-formed ${desc.input.typeName}`)
  }
  throw tooLarge(`a message must have at most ${maxValues} values; send several smaller requests`, 413)
}
