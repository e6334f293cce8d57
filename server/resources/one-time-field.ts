import type { DescField } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { Reply } from '../wire/reply.ts'
import { asJson } from '../wire/reply.ts'

/** Adds a string that is not stored in the resource, such as a new secret, to a reply that contains the resource. */
export function withOneTimeField(reply: Reply, field: DescField, value: string): Reply {
  return {
    ...reply,
    json() {
      const { text } = reply.json()
      return asJson(`${text.slice(0, -1)},${JSON.stringify(field.jsonName)}:${JSON.stringify(value)}}`)
    },
    bytes() {
      const writer = new BinaryWriter().raw(reply.bytes())
      return writer.tag(field.number, WireType.LengthDelimited).string(value).finish()
    },
  }
}
