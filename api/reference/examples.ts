// Examples of requests and responses as JSON, from the examples of their fields. A test sends the requests to a server.
import type { DescField, DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { isOutputOnly, isRequired, isScope, rulesOf } from '../method.ts'
import type { Body } from './request-parts.ts'
import type { Purpose } from './schema.ts'
import { fieldsOf } from './schema.ts'

export const groupUid = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b/1f0e4c9a7b2d6538'
const childUid = `${groupUid}/c07d22e19a5b4f36`

export function bodyExample({ message, fields, isSingleField, isList, isPartial }: Body): JsonValue {
  const purpose = isPartial ? 'update' : 'create'
  const example = isSingleField ? exampleOf(message, purpose) : exampleOf(message, purpose, fields)
  return isList ? [example] : example
}

export function exampleOf(desc: DescMessage, purpose: Purpose, fields = fieldsOf(desc, purpose)): JsonObject {
  const hasExamples = fields.some(hasExample)
  const shown = fields.filter((field) => isShown(field, purpose, hasExamples))
  const entries = shown.map((field): [string, JsonValue] => [field.jsonName, fieldExample(field, purpose)])
  return Object.fromEntries(purpose === 'update' ? entries.filter(updateFilter(entries)) : entries)
}

const hasExample = (field: DescField) => rulesOf(field).example !== ''

/**
 * A request shows the fields that have an example or are required, unless only the operator can set them. A response
 * shows the fields that have an example and those that are always present. If no field has an
 * example, a response shows all fields that are not omitted when empty; of a oneof, only the first.
 */
function isShown(field: DescField, purpose: Purpose, hasExamples: boolean): boolean {
  if (purpose !== 'response') return (hasExample(field) || isRequired(field)) && !rulesOf(field).operatorOnly
  if (hasExample(field)) return true
  if (rulesOf(field).omitEmpty) return false
  if (!hasExamples) return !field.oneof || field.oneof.fields[0] === field
  if (field.oneof || field.proto.proto3Optional) return false
  return field.fieldKind !== 'message' || isOutputOnly(field) || field.message.typeName in wellKnown
}

/** One field is enough to show an update, preferably the description. */
function updateFilter(entries: [string, JsonValue][]) {
  const names = entries.map(([name]) => name)
  const preferred = ['description', 'content', 'deprecated', 'singleUse', 'roleUid'].find((name) =>
    names.includes(name),
  )
  return ([name]: [string, JsonValue]) => name === (preferred ?? names[0])
}

function fieldExample(field: DescField, purpose: Purpose): JsonValue {
  const { example } = rulesOf(field)
  if (example !== '' && hasTextExample(field)) return example
  if (example !== '' && example !== '{}') return JSON.parse(example)
  if (field.fieldKind === 'list') return [elementExample(field, purpose)]
  if (field.fieldKind === 'map') return {}
  return elementExample(field, purpose)
}

/** Whether the example of a field is used as a string. Other examples are parsed as JSON. */
function hasTextExample(field: DescField): boolean {
  if (field.fieldKind === 'scalar')
    return field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES
  return field.fieldKind === 'enum' || (field.fieldKind === 'message' && field.message.typeName in wellKnown)
}

function elementExample(field: DescField, purpose: Purpose): JsonValue {
  if (field.message) return wellKnown[field.message.typeName] ?? exampleOf(field.message, purpose)
  if (field.enum) return (field.enum.values[1] ?? field.enum.values[0])?.name ?? ''
  return scalarExample(field)
}

export function scalarExample(field: DescField): JsonValue {
  switch (field.scalar) {
    case ScalarType.BOOL:
      return true
    case ScalarType.BYTES:
      return 'c29tZSBieXRlcw=='
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return '1'
    case ScalarType.STRING:
      return rulesOf(field).example || uidExample(field) || field.jsonName
    case undefined:
      return wellKnown[field.message?.typeName ?? ''] ?? field.enum?.values[1]?.name ?? ''
    default:
      return 1
  }
}

/** Empty for a field that does not contain a uid. */
function uidExample(field: DescField): string {
  if (/^(?:uid|id|identity)$/.test(field.name)) return childUid
  const isUid = rulesOf(field).uid || isScope(field) || /^(?:parent|group)(?:_id)?$|_uid$/.test(field.name)
  return isUid ? groupUid : ''
}

const wellKnown: Record<string, JsonValue> = {
  'google.protobuf.Timestamp': '2026-01-31T09:30:00.000Z',
  'google.protobuf.Duration': '86400s',
  'google.protobuf.FieldMask': 'description',
  'google.protobuf.Struct': {},
  'google.protobuf.Value': 'value',
  'google.protobuf.Empty': {},
}
