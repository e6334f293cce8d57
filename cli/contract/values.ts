// What was written after a flag, as JSON of its field.
import type { DescEnum, DescField, DescMessage, JsonObject, JsonValue, ScalarType } from '@bufbuild/protobuf'
import { ScalarType as Scalar } from '@bufbuild/protobuf'
import { UsageError } from '../usage.ts'
import { enumValue } from './enums.ts'
import { durationOf, timeOf } from './moments.ts'
import { camel } from './spelling.ts'

/** What one entry of a field holds: of a list each element, of a map each value. */
type Content = {
  scalar?: ScalarType | undefined
  enum?: DescEnum | undefined
  message?: DescMessage | undefined
}

/** Lists are given by repeating a flag or separated by commas where no value can hold one, maps as `key=value`. */
export function jsonOf(field: DescField, texts: string[], now: number): JsonValue {
  if (field.fieldKind === 'map') return mapOf(field, texts, now)
  if (field.fieldKind !== 'list') return one(field, texts.at(-1) ?? '', field.name, now)
  const parts = field.enum ? texts.flatMap((text) => text.split(',').map((part) => part.trim())) : texts
  return parts.map((text) => one(field, text, field.name, now))
}

function mapOf(field: DescField & { fieldKind: 'map' }, texts: string[], now: number): JsonObject {
  const entries = texts.map((text): [string, JsonValue] => {
    const at = text.indexOf('=')
    if (at < 1) throw new UsageError(`must be key=value, not ${JSON.stringify(text)}`)
    return [text.slice(0, at), one(field, text.slice(at + 1), field.name, now)]
  })
  return Object.fromEntries(entries)
}

function one(content: Content, text: string, name: string, now: number): JsonValue {
  if (content.enum) return enumValue(content.enum, text)
  if (content.message) return messageOf(content.message, text, name, now)
  return scalarOf(content.scalar ?? Scalar.STRING, text)
}

function messageOf({ typeName }: DescMessage, text: string, name: string, now: number): JsonValue {
  if (typeName === 'google.protobuf.Duration') return durationOf(text)
  if (typeName === 'google.protobuf.Timestamp') return timeOf(text, now, name.endsWith('since'))
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

function scalarOf(scalar: ScalarType, text: string): JsonValue {
  if (scalar === Scalar.BOOL) return boolOf(text)
  if (integers.has(scalar) || longs.has(scalar)) {
    if (!/^-?\d+$/.test(text)) throw new UsageError(`must be a whole number, not ${JSON.stringify(text)}`)
    return longs.has(scalar) ? text : Number(text)
  }
  if (scalar === Scalar.FLOAT || scalar === Scalar.DOUBLE) return Number(text)
  return text
}

function boolOf(text: string): boolean {
  if (text !== 'true' && text !== 'false')
    throw new UsageError(`must be true or false, not ${JSON.stringify(text)}`)
  return text === 'true'
}
