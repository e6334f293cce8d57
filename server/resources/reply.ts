// Answers, from messages or straight from rows: what is stored is sent on without being decoded.
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf'
import { create, toBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { writeJson } from '../aip/json-writer.ts'
import type { Reply } from '../aip/passage.ts'
import type { Leaving, Stored } from '../store/table.ts'
import type { Kind } from './kind.ts'
import { bytesOf, jsonOf, leavingOf } from './kind.ts'

export const rowReply = (kind: Kind<DescMessage>, row: Leaving): Reply => ({
  json: () => jsonOf(kind, row),
  bytes: () => bytesOf(row),
})

export const storedReply = (kind: Kind<DescMessage>, stored: Stored): Reply =>
  rowReply(kind, leavingOf(kind, stored))

/** SPEC section 4: an empty body, and over gRPC an empty message. */
export const emptyReply: Reply = { json: () => '', bytes: () => new Uint8Array() }

/** A list response: its first field holds the resources, as their rows keep them. */
export function listReply<D extends DescMessage>(
  kind: Kind<DescMessage>,
  response: D,
  rows: Leaving[],
  rest: MessageInitShape<D>,
): Reply {
  const message = create(response, rest)
  const [collection] = response.fields
  if (!collection) throw new Error(`${response.typeName} has no fields`)
  return {
    json() {
      const frame = writeJson(response, message)
      const opening = `{${JSON.stringify(collection.jsonName)}:[`
      return opening + rows.map((row) => jsonOf(kind, row)).join(',') + frame.slice(opening.length)
    },
    bytes() {
      const writer = new BinaryWriter()
      for (const row of rows) writer.tag(collection.number, WireType.LengthDelimited).bytes(bytesOf(row))
      return writer.raw(toBinary(response, message)).finish()
    },
  }
}
