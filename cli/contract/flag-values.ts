// Converts the texts of a flag to the JSON value of its field.
import type { DescEnum, DescField, DescMessage, JsonObject, JsonValue, ScalarType } from '@bufbuild/protobuf'
import { ScalarType as Scalar } from '@bufbuild/protobuf'
import { UsageError } from '../failure.ts'
import { parseEnumValue } from './enum-names.ts'
import { camel } from './spelling.ts'
import { parseDuration, parseTime } from './time-values.ts'

/** The type of a field, of the elements of a list or of the values of a map. */
type ValueType = {
  name: string
  scalar?: ScalarType | undefined
  enum?: DescEnum | undefined
  message?: DescMessage | undefined
}

/**
 * Parses the texts of a flag. The flag is repeated for each element of a list and for each entry of a map, which has the
 * form `key=value`. Enum values can also be separated by commas; other values cannot, because they may contain commas.
 */
export function parseFlagValue(field: DescField, texts: string[], now: number): JsonValue {
  if (field.fieldKind === 'map') return parseMap(field, texts, now)
  if (field.fieldKind !== 'list') return parseValue(field, texts.at(-1) ?? '', now)
  const parts = field.enum ? texts.flatMap((text) => text.split(',').map((part) => part.trim())) : texts
  return parts.map((text) => parseValue(field, text, now))
}

function parseMap(field: DescField & { fieldKind: 'map' }, texts: string[], now: number): JsonObject {
  const entries = texts.map((text): [string, JsonValue] => {
    const index = text.indexOf('=')
    if (index < 1) throw new UsageError(`must be key=value, not ${JSON.stringify(text)}`)
    return [text.slice(0, index), parseValue(field, text.slice(index + 1), now)]
  })
  return Object.fromEntries(entries)
}

function parseValue(type: ValueType, text: string, now: number): JsonValue {
  if (type.enum) return parseEnumValue(type.enum, text)
  if (type.message) return parseMessage(type.message, text, type.name, now)
  return parseScalar(type.scalar ?? Scalar.STRING, text)
}

function parseMessage({ typeName }: DescMessage, text: string, fieldName: string, now: number): JsonValue {
  if (typeName === 'google.protobuf.Duration') return parseDuration(text)
  if (typeName === 'google.protobuf.Timestamp') return parseTime(text, now, fieldName.endsWith('since'))
  if (typeName === 'google.protobuf.FieldMask')
    return text
      .split(',')
      .map((path) => camel(path.trim()))
      .join(',')
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    throw new UsageError(`must be JSON, not ${JSON.stringify(text)}`)
  }
}

const integers = new Set([Scalar.INT32, Scalar.UINT32, Scalar.SINT32, Scalar.FIXED32, Scalar.SFIXED32])
const longs = new Set([Scalar.INT64, Scalar.UINT64, Scalar.SINT64, Scalar.FIXED64, Scalar.SFIXED64])

function parseScalar(scalar: ScalarType, text: string): JsonValue {
  if (scalar === Scalar.BOOL) return parseBoolean(text)
  if (integers.has(scalar) || longs.has(scalar)) {
    if (!/^-?\d+$/.test(text)) throw new UsageError(`must be a whole number, not ${JSON.stringify(text)}`)
    // ProtoJSON writes 64-bit integers as strings.
    return longs.has(scalar) ? text : Number(text)
  }
  if (scalar === Scalar.FLOAT || scalar === Scalar.DOUBLE) return Number(text)
  return text
}

function parseBoolean(text: string): boolean {
  if (text !== 'true' && text !== 'false')
    throw new UsageError(`must be true or false, not ${JSON.stringify(text)}`)
  return text === 'true'
}
