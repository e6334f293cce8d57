// Replies from rows: stored JSON and bytes are sent without being decoded.
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf'
import { create, toBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { notFound } from '../aip/errors.ts'
import { etagOf } from '../aip/etag.ts'
import type { Grants } from '../policy/grants.ts'
import type { JoinedRows } from '../store/list/listing.ts'
import type { Entry, Rendered } from '../store/table.ts'
import { isStoredWhole, readBytes, selectRendered } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
import { writeJson } from '../wire/json-writer.ts'
import type { Reply } from '../wire/reply.ts'
import { asJson } from '../wire/reply.ts'
import type { Kind } from './kind.ts'
import { jsonOf, redactionFor } from './kind.ts'

export const rowReply = (kind: Kind<DescMessage>, rendered: Rendered, updateTime: number): Reply => ({
  json: () => asJson(jsonOf(kind, rendered)),
  bytes: () => rendered as Uint8Array, // rows for gRPC are read as bytes
  etag: etagOf(updateTime),
})

/** Reads a resource in the current transaction, after it was written, as a caller with these grants may see it. */
export function* readReply(
  kind: Kind<DescMessage>,
  uid: string,
  form: 'json' | 'bytes',
  grants: Grants,
): Work<Reply> {
  const redaction = redactionFor(kind, grants)
  const row = yield* first(selectRendered(kind.table, uid, kind.forms[redaction ? 'bytes' : form]))
  if (!row) throw notFound(kind.desc.typeName, uid)
  const [rendered, updateTime] = row
  const content = rendered ?? (yield* readBytes(kind.table, [uid])).get(uid)
  // A redaction reads bytes.
  const shown = redaction ? redaction.apply(grants, content as Uint8Array) : (content as Rendered)
  return rowReply(kind, shown, updateTime as number)
}

/** Like `readReply`, with the row that was written, which is read again only if fields of other rows are joined to it. */
export function* writtenReply(
  kind: Kind<DescMessage>,
  { uid, json, proto, updateTime }: Entry,
  form: 'json' | 'bytes',
  grants: Grants,
): Work<Reply> {
  if (!isStoredWhole(kind.table)) return yield* readReply(kind, uid, form, grants)
  const redaction = redactionFor(kind, grants)
  const written = form === 'json' ? json : proto
  return rowReply(kind, redaction ? redaction.apply(grants, proto) : written, updateTime)
}

/** A list response. Its first field contains the resources as they are stored. */
export function listReply<D extends DescMessage>(
  kind: Kind<DescMessage>,
  response: D,
  rows: Rendered[] | JoinedRows,
  otherFields: MessageInitShape<D>,
): Reply {
  const message = create(response, otherFields)
  const [collection] = response.fields
  if (!collection) throw new Error(`${response.typeName} has no fields`)
  return {
    json() {
      const withoutRows = writeJson(response, message) // begins with an empty collection
      const start = `{${JSON.stringify(collection.jsonName)}:[`
      const { text, size } = joined(kind, rows)
      return {
        text: start + text + withoutRows.slice(start.length),
        size: size + Buffer.byteLength(withoutRows),
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
