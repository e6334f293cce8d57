// A message as JSON might have it: its example, or one put together from its fields.
import type { DescField, DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { isRequired, isScope, rulesOf } from '../method.ts'
import { examples, fieldExamples, groupUid } from './examples.ts'
import { shortName } from './naming.ts'
import type { Body } from './operations.ts'
import type { Side } from './schema.ts'
import { fieldsOf } from './schema.ts'

/** What a call might be sent. */
export function bodySample({ message, fields, isWhole, isList, isPartial }: Body): JsonValue {
  const side = isPartial ? 'change' : 'draft'
  const sample = isWhole ? sampleOf(message, side) : sampleOf(message, side, fields)
  return isList ? [sample] : sample
}

export function sampleOf(desc: DescMessage, side: Side, fields = fieldsOf(desc, side)): JsonObject {
  const example = examples[shortName(desc.typeName)]
  if (!example) return assemble(fields, side)
  const entries = fields
    .filter(
      (field) =>
        Object.hasOwn(example, field.jsonName) && (side === 'answer' || !rulesOf(field).operatorOnly),
    )
    .map((field): [string, JsonValue] => [
      field.jsonName,
      within(field, example[field.jsonName] ?? null, side),
    ])
  return Object.fromEntries(side === 'change' ? entries.filter(isSmallChange(entries)) : entries)
}

/** One field is enough to show a change: the description where there is one. */
function isSmallChange(entries: [string, JsonValue][]) {
  const names = entries.map(([name]) => name)
  const chosen = ['description', 'content', 'deprecated', 'singleUse', 'roleUid'].find((name) =>
    names.includes(name),
  )
  return ([name]: [string, JsonValue]) => name === (chosen ?? names[0])
}

/** Leaves out of inner messages what that side does not have. */
function within({ fieldKind, message }: DescField, value: JsonValue, side: Side): JsonValue {
  if (fieldKind !== 'message' || !message || typeof value !== 'object' || value === null) return value
  const known = new Set(fieldsOf(message, side).map(({ jsonName }) => jsonName))
  return Object.fromEntries(Object.entries(value).filter(([name]) => known.has(name)))
}

function assemble(fields: DescField[], side: Side): JsonObject {
  const shown = fields.filter((field) => (side === 'answer' ? isTold(field) : isRequired(field)))
  return Object.fromEntries(shown.map((field) => [field.jsonName, fieldValue(field, side)]))
}

const isTold = (field: DescField) =>
  !rulesOf(field).omitEmpty && (!field.oneof || field.oneof.fields[0] === field)

function fieldValue(field: DescField, side: Side): JsonValue {
  if (field.fieldKind === 'list') return [elementOf(field, side)]
  if (field.fieldKind === 'map') return {}
  return elementOf(field, side)
}

function elementOf(field: DescField, side: Side): JsonValue {
  if (field.message) return wellKnown[field.message.typeName] ?? sampleOf(field.message, side)
  if (field.enum) return (field.enum.values[1] ?? field.enum.values[0])?.name ?? ''
  return scalarOf(field)
}

/** What a parameter might be. */
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
      return isUid(field) ? groupUid : (fieldExamples[field.jsonName] ?? field.jsonName)
    case undefined:
      return wellKnown[field.message?.typeName ?? ''] ?? field.enum?.values[1]?.name ?? ''
    default:
      return 1
  }
}

const isUid = (field: DescField) =>
  rulesOf(field).uid || isScope(field) || /^(?:uid|id|parent|(?:group|parent)I?d?)$|Uid$/.test(field.jsonName)

const wellKnown: Record<string, JsonValue> = {
  'google.protobuf.Timestamp': '2026-01-31T09:30:00.000Z',
  'google.protobuf.Duration': '86400s',
  'google.protobuf.FieldMask': 'description',
  'google.protobuf.Struct': {},
  'google.protobuf.Empty': {},
}
