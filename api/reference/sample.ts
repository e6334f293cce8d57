// A message as JSON, put together from the examples of its fields. A test sends the samples of requests to a server.
import type { DescField, DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { isOutputOnly, isRequired, isScope, rulesOf } from '../method.ts'
import type { Body } from './operations.ts'
import type { Side } from './schema.ts'
import { fieldsOf } from './schema.ts'

export const groupUid = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b/1f0e4c9a7b2d6538'
const childUid = `${groupUid}/c07d22e19a5b4f36`

/** The body of a request. */
export function bodySample({ message, fields, isWhole, isList, isPartial }: Body): JsonValue {
  const side = isPartial ? 'change' : 'draft'
  const sample = isWhole ? sampleOf(message, side) : sampleOf(message, side, fields)
  return isList ? [sample] : sample
}

export function sampleOf(desc: DescMessage, side: Side, fields = fieldsOf(desc, side)): JsonObject {
  const hasExamples = fields.some(hasExample)
  const shown = fields.filter((field) => isShown(field, side, hasExamples))
  const entries = shown.map((field): [string, JsonValue] => [field.jsonName, fieldSample(field, side)])
  return Object.fromEntries(side === 'change' ? entries.filter(isSmallChange(entries)) : entries)
}

const hasExample = (field: DescField) => rulesOf(field).example !== ''

/**
 * Besides fields with an example, a request shows those that are required. A response shows all fields, or, where some
 * have an example, those that are always present.
 */
function isShown(field: DescField, side: Side, hasExamples: boolean): boolean {
  if (side !== 'answer') return (hasExample(field) || isRequired(field)) && !rulesOf(field).operatorOnly
  if (hasExample(field)) return true
  if (rulesOf(field).omitEmpty) return false
  if (!hasExamples) return !field.oneof || field.oneof.fields[0] === field
  if (field.oneof || field.proto.proto3Optional) return false
  return field.fieldKind !== 'message' || isOutputOnly(field) || field.message.typeName in wellKnown
}

/** One field is enough to show a change: the description where there is one. */
function isSmallChange(entries: [string, JsonValue][]) {
  const names = entries.map(([name]) => name)
  const chosen = ['description', 'content', 'deprecated', 'singleUse', 'roleUid'].find((name) =>
    names.includes(name),
  )
  return ([name]: [string, JsonValue]) => name === (chosen ?? names[0])
}

function fieldSample(field: DescField, side: Side): JsonValue {
  const { example } = rulesOf(field)
  if (example !== '' && isText(field)) return example
  if (example !== '' && example !== '{}') return JSON.parse(example)
  if (field.fieldKind === 'list') return [elementOf(field, side)]
  if (field.fieldKind === 'map') return {}
  return elementOf(field, side)
}

/** Whether the example of a field is its text. Others are JSON. */
function isText(field: DescField): boolean {
  if (field.fieldKind === 'scalar')
    return field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES
  return field.fieldKind === 'enum' || (field.fieldKind === 'message' && field.message.typeName in wellKnown)
}

function elementOf(field: DescField, side: Side): JsonValue {
  if (field.message) return wellKnown[field.message.typeName] ?? sampleOf(field.message, side)
  if (field.enum) return (field.enum.values[1] ?? field.enum.values[0])?.name ?? ''
  return scalarOf(field)
}

/** A value for a parameter. */
export function scalarOf(field: DescField): JsonValue {
  switch (field.scalar) {
    case ScalarType.BOOL:
      return true
    case ScalarType.BYTES:
      return 'c29tZSBieXRlcw=='
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return '1'
    case ScalarType.STRING:
      return rulesOf(field).example || uidFor(field) || field.jsonName
    case undefined:
      return wellKnown[field.message?.typeName ?? ''] ?? field.enum?.values[1]?.name ?? ''
    default:
      return 1
  }
}

/** `` for a field that contains no uid. */
function uidFor(field: DescField): string {
  if (/^(?:uid|id|identity)$/.test(field.name)) return childUid
  const isUid = rulesOf(field).uid || isScope(field) || /^(?:parent|group)(?:_id)?$|_uid$/.test(field.name)
  return isUid ? groupUid : ''
}

const wellKnown: Record<string, JsonValue> = {
  'google.protobuf.Timestamp': '2026-01-31T09:30:00.000Z',
  'google.protobuf.Duration': '86400s',
  'google.protobuf.FieldMask': 'description',
  'google.protobuf.Struct': {},
  'google.protobuf.Empty': {},
}
