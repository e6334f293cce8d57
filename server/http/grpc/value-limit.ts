// Limits the number of values in a message before it is decoded. Decoding takes up to half a microsecond and 100 bytes
// of memory for a value that has two bytes in the message, so the size of a message alone does not bound its cost.
import type { DescField, DescMessage } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'

/**
 * The largest requests that the rules of the contract allow and that clients may need have about 30,000 values: an
 * account association with 10,000 installations, and an advisory with 1000 events.
 */
export const maxValues = 50_000
/** The recursion limit of protobuf-es. */
const maxDepth = 100

type Fields = ReadonlyMap<number, FieldForm>

/** How a field is encoded. */
type FieldForm = {
  wireType: WireType
  /** The fields of a message or of a map entry. */
  fields?: () => Fields
  isMap?: boolean
  /** The wire type of each value, if a list may be packed. */
  packedAs?: WireType
}

/**
 * Whether a message has more than `maxValues` values: fields, elements of lists and entries of maps, at every depth.
 * Throws if the message is malformed. Protobuf groups, and fields with a wrong wire type, are also errors, because
 * protobuf-es reads these in a different way, in which they could hide values.
 */
export function hasTooManyValues(desc: DescMessage, bytes: Uint8Array): boolean {
  // A value has at least one byte, so nearly all messages need not be read.
  if (bytes.length <= maxValues) return false
  const reader = new BinaryReader(bytes)
  let count = 0

  function countFields(fields: Fields, end: number, isMapEntry: boolean, depth: number): void {
    if (depth > maxDepth) throw new Error('nested too deeply')
    while (reader.pos < end && count <= maxValues) {
      const [number, wireType] = reader.tag()
      count++
      const form = fields.get(number)
      if (form) countField(form, wireType, depth)
      else if (isMapEntry || wireType === WireType.StartGroup) throw new Error('unexpected field')
      else reader.skip(wireType)
    }
  }

  function countField(
    { wireType, fields, isMap = false, packedAs }: FieldForm,
    sent: WireType,
    depth: number,
  ) {
    const isPacked = packedAs !== undefined && sent === WireType.LengthDelimited
    if (sent !== wireType && !isPacked) throw new Error('wrong wire type')
    if (fields) {
      const size = reader.uint32()
      countFields(fields(), reader.pos + size, isMap, depth + 1)
    } else if (isPacked) countPacked(packedAs)
    else reader.skip(sent)
  }

  function countPacked(wireType: WireType): void {
    const size = reader.uint32()
    const end = reader.pos + size
    for (; reader.pos < end && count <= maxValues; count++) reader.skip(wireType)
  }

  countFields(fieldsOf(desc), bytes.length, false, 1)
  return count > maxValues
}

/** The contract bounds the number of types. */
const fieldsByType = new Map<DescMessage, Fields>()

function fieldsOf(desc: DescMessage): Fields {
  let fields = fieldsByType.get(desc)
  if (!fields) {
    fields = new Map(desc.fields.map((field) => [field.number, formOf(field)]))
    fieldsByType.set(desc, fields)
  }
  return fields
}

function formOf(field: DescField): FieldForm {
  if (field.fieldKind === 'map') {
    const entry: Fields = new Map([
      [1, { wireType: wireTypeOf(field.mapKey) }],
      [2, valueForm(field)],
    ])
    return { wireType: WireType.LengthDelimited, fields: () => entry, isMap: true }
  }
  const form = valueForm(field)
  const mayBePacked = field.fieldKind === 'list' && form.wireType !== WireType.LengthDelimited
  return mayBePacked ? { ...form, packedAs: form.wireType } : form
}

/** The form of a single value of a field. */
function valueForm({ message, scalar }: DescField): FieldForm {
  if (message) return { wireType: WireType.LengthDelimited, fields: () => fieldsOf(message) }
  return { wireType: wireTypeOf(scalar) }
}

/** Enums have no scalar type and are encoded as varints. */
function wireTypeOf(scalar: ScalarType | undefined): WireType {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
    case ScalarType.DOUBLE:
      return WireType.Bit64
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
    case ScalarType.FLOAT:
      return WireType.Bit32
    default:
      return WireType.Varint
  }
}
