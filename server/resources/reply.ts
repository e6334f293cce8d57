// Answers, from messages or straight from rows: what is stored is sent on without being decoded.
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf'
import { create, toBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { notFound } from '../aip/errors.ts'
import { etagOf } from '../aip/etag.ts'
import type { JoinedRows } from '../store/list/listing.ts'
import type { Rendered } from '../store/table.ts'
import { readBytes, selectRendered } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
import { writeJson } from '../wire/json-writer.ts'
import type { Reply } from '../wire/reply.ts'
import { asJson } from '../wire/reply.ts'
import type { Kind } from './kind.ts'
import { formOf, jsonOf } from './kind.ts'

export const rowReply = (kind: Kind<DescMessage>, rendered: Rendered, updateTime: number): Reply => ({
  json: () => asJson(jsonOf(kind, rendered)),
  bytes: () => bytesOf(rendered),
  etag: etagOf(updateTime),
})

/** A row is read in the form of the door that asks, so bytes are never asked of JSON. */
const bytesOf = (rendered: Rendered) => rendered as Uint8Array

/** A resource of the running transaction, as it leaves. */
export function* readReply(kind: Kind<DescMessage>, uid: string, form: 'json' | 'bytes'): Work<Reply> {
  const row = yield* first(selectRendered(kind.table, uid, formOf(kind, form)))
  if (!row) throw notFound(kind.desc.typeName, uid)
  const [rendered, updateTime] = row
  const whole = rendered ?? (yield* readBytes(kind.table, [uid])).get(uid)
  return rowReply(kind, whole as Rendered, updateTime as number)
}

/** An empty body, and over gRPC an empty message (docs/specification.md, Resources). */
export const emptyReply: Reply = { json: () => asJson(''), bytes: () => new Uint8Array() }

/** A list response: its first field holds the resources, as their rows keep them. */
export function listReply<D extends DescMessage>(
  kind: Kind<DescMessage>,
  response: D,
  rows: Rendered[] | JoinedRows,
  rest: MessageInitShape<D>,
): Reply {
  const message = create(response, rest)
  const [collection] = response.fields
  if (!collection) throw new Error(`${response.typeName} has no fields`)
  return {
    json() {
      const frame = writeJson(response, message)
      const opening = `{${JSON.stringify(collection.jsonName)}:[`
      const { text, size } = joined(kind, rows)
      return {
        text: opening + text + frame.slice(opening.length),
        size: size + Buffer.byteLength(frame), // which holds the opening
      }
    },
    bytes() {
      const writer = new BinaryWriter()
      for (const row of rows as Uint8Array[])
        writer.tag(collection.number, WireType.LengthDelimited).bytes(row)
      return writer.raw(toBinary(response, message)).finish()
    },
  }
}

const joined = (kind: Kind<DescMessage>, rows: Rendered[] | JoinedRows): JoinedRows =>
  Array.isArray(rows) ? asJson(rows.map((row) => jsonOf(kind, row)).join(',')) : rows
