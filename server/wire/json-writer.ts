// Writes messages as JSON, by the rules of ProtoJSON and the specification (docs/specification.md, Resources). Each
// message type has one writer, which is composed once from its descriptor.
import { createHash } from 'node:crypto'
import type { DescEnum, DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { ScalarType, toJson } from '@bufbuild/protobuf'
import type { Duration, Value as ProtobufValue, Timestamp } from '@bufbuild/protobuf/wkt'
import { hasCustomJsonRepresentation, ValueSchema } from '@bufbuild/protobuf/wkt'
import { isInputOnly, rulesOf } from '@stemma/api/method.ts'

type Write = (value: never) => string

/** The writer of each message type. The map needs no size limit: the contract has a fixed number of message types. */
const writers = new Map<DescMessage, (message: Message) => string>()

export function writeJson(desc: DescMessage, message: Message): string {
  return writerOf(desc)(message)
}

/**
 * A fingerprint of the parts of a message definition that the writer reads. It is stored with the JSON of a row; a row
 * with another fingerprint is rendered again. Options that do not affect the JSON, such as hints, do not change it.
 */
export function shapeOf(...descs: DescMessage[]): string {
  // Increase the number when the writer renders the same definition differently.
  const hash = createHash('sha256').update('writer 3')
  const seen = new Set<DescMessage | DescEnum>()
  for (const desc of descs) addShape(desc)
  return hash.digest('hex').slice(0, 12)

  function addShape(type: DescMessage | DescEnum) {
    if (seen.has(type)) return
    seen.add(type)
    hash.update(`\n${type.typeName}`)
    if (type.kind === 'enum') {
      for (const { name, number } of type.values) hash.update(` ${name}=${number}`)
      return
    }
    for (const field of type.fields) hash.update(fieldShape(field))
    for (const field of type.fields) {
      if (field.message) addShape(field.message)
      if (field.enum) addShape(field.enum)
    }
  }
}

function fieldShape(field: DescField): string {
  const { number, jsonName, fieldKind, scalar, message, enum: values, oneof } = field
  const type = message?.typeName ?? values?.typeName ?? scalar
  const presence = [isOptional(field), isInputOnly(field), rulesOf(field).omitEmpty]
  return ` ${[number, jsonName, fieldKind, type, oneof?.name, ...presence].join(':')}`
}

function writerOf(desc: DescMessage): (message: Message) => string {
  const writer = writers.get(desc) ?? wellKnownWriters[desc.typeName]
  if (writer) return writer as (message: Message) => string // the map pairs each type with its writer
  if (hasCustomJsonRepresentation(desc)) throw new Error(`there is no JSON writer for ${desc.typeName}`)
  let fieldWriters: ((message: Record<string, unknown>) => string)[] = []
  const write = (message: Message) => {
    let json = ''
    for (const writeField of fieldWriters) {
      const text = writeField(message as unknown as Record<string, unknown>)
      if (text !== '') json += json === '' ? text : `,${text}`
    }
    return `{${json}}`
  }
  // Registered before the writers of its fields are composed, because a message may contain itself.
  writers.set(desc, write)
  fieldWriters = desc.fields.map(fieldWriter)
  return write
}

/** Writes `"key":value`, or an empty string if the field is omitted. */
function fieldWriter(field: DescField): (message: Record<string, unknown>) => string {
  // Input-only fields are secrets: accepted in requests, never written.
  if (isInputOnly(field)) return () => ''
  const key = `${JSON.stringify(field.jsonName)}:`
  const name = field.localName
  const write = valueWriter(field) as (value: unknown) => string // accepts the type of the field
  const oneof = field.oneof
  if (oneof) {
    return (message) => {
      const member = message[oneof.localName] as { case?: string; value?: unknown }
      return member.case === name ? key + write(member.value) : ''
    }
  }
  const { omitEmpty } = rulesOf(field)
  const mayBeAbsent = field.fieldKind === 'message' || isOptional(field)
  return (message) => {
    const value = message[name]
    if (mayBeAbsent && (value === undefined || !Object.hasOwn(message, name))) return ''
    if (omitEmpty && isEmpty(value)) return ''
    return key + write(value)
  }
}

const isOptional = (field: DescField) => field.proto.proto3Optional

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return !value
}

function valueWriter(field: DescField): Write {
  switch (field.fieldKind) {
    case 'scalar':
      return scalarWriter(field.scalar)
    case 'enum':
      return enumWriter(field.enum)
    case 'message':
      return writerOf(field.message) as Write
    case 'list':
      return listWriter(elementWriter(field))
    case 'map':
      return mapWriter(elementWriter(field))
  }
}

function elementWriter(field: DescField & { fieldKind: 'list' | 'map' }): Write {
  const kind = field.fieldKind === 'list' ? field.listKind : field.mapKind
  if (kind === 'scalar') return scalarWriter(field.scalar as ScalarType) // present for this kind
  if (kind === 'enum') return enumWriter(field.enum as DescEnum) // present for this kind
  return writerOf(field.message as DescMessage) as Write // present for this kind
}

function listWriter(write: Write): Write {
  return (list: never[]) => `[${list.map(write).join(',')}]`
}

function mapWriter(write: Write): Write {
  return (map: Record<string, never>) =>
    `{${Object.entries(map)
      .map(([key, value]) => `${JSON.stringify(key)}:${write(value)}`)
      .join(',')}}`
}

function enumWriter(desc: DescEnum): Write {
  const names = new Map(desc.values.map((value) => [value.number, JSON.stringify(value.name)]))
  return (number: number) => names.get(number) ?? String(number)
}

function scalarWriter(type: ScalarType): Write {
  switch (type) {
    case ScalarType.STRING:
      return (text: string) => JSON.stringify(text)
    case ScalarType.BOOL:
      return (flag: boolean) => (flag ? 'true' : 'false')
    case ScalarType.BYTES:
      return (bytes: Uint8Array) => `"${Buffer.from(bytes).toString('base64')}"`
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return (number: bigint) => `"${number}"`
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return (number: number) => (Number.isFinite(number) ? String(number) : `"${number}"`)
    default:
      return (number: number) => String(number)
  }
}

/** Always with milliseconds (docs/specification.md, Identifiers and times). */
const writeTimestamp = ({ seconds, nanos }: Timestamp) =>
  `"${new Date(Number(seconds) * 1000 + Math.floor(nanos / 1e6)).toISOString()}"`

function writeDuration({ seconds, nanos }: Duration): string {
  const sign = seconds < 0n || nanos < 0 ? '-' : ''
  const whole = seconds < 0n ? -seconds : seconds
  const fraction =
    nanos === 0
      ? ''
      : `.${String(Math.abs(nanos))
          .padStart(9, '0')
          .replace(/(000)+$/, '')}`
  return `"${sign}${whole}${fraction}s"`
}

const wellKnownWriters: Record<string, Write> = {
  'google.protobuf.Timestamp': writeTimestamp,
  'google.protobuf.Duration': writeDuration,
  // Only for fields: protobuf-es represents a Struct in a field as plain JSON, but a separate Struct as a message.
  'google.protobuf.Struct': JSON.stringify,
  'google.protobuf.Value': (value: ProtobufValue) => JSON.stringify(toJson(ValueSchema, value)),
}
