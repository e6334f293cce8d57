import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { clone, toBinary } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'

/** The bytes of a message, equal for equal messages. Clients may send the entries of maps in any order. */
export function canonicalBytes<D extends DescMessage>(desc: D, message: MessageShape<D>): Uint8Array {
  const copy = clone(desc, message)
  sortMaps(reflect(desc, copy))
  return toBinary(desc, copy)
}

function sortMaps(message: ReflectMessage): void {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue
    if (field.fieldKind === 'message') sortMaps(message.get(field))
    else if (field.fieldKind === 'list' && field.listKind === 'message') {
      for (const element of message.get(field)) sortMaps(element as ReflectMessage) // a list of messages
    } else if (field.fieldKind === 'map') {
      const map = message.get(field)
      const entries = [...map].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
      map.clear()
      for (const [key, value] of entries) {
        if (field.mapKind === 'message') sortMaps(value as ReflectMessage) // a map of messages
        map.set(key, value)
      }
    }
  }
}
