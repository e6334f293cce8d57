// JSON Schemas (2020-12, the dialect of OpenAPI 3.1) of messages. A message has up to three, for responses and for the
// bodies of create and update calls. They differ in their fields and in which of them are required.
import type { DescEnum, DescField, DescMessage } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { isImmutable, isInputOnly, isOutputOnly, isRequired, isScope, rulesOf } from '../method.ts'
import { commentOf } from './comments.ts'
import { shortName } from './service-names.ts'

export type Schema = { [key: string]: unknown }
export type Purpose = 'response' | 'create' | 'update'

/** Schemas by name. A schema is added when it is first referenced. */
export type Schemas = Map<string, Schema>

const suffixes = { response: '', create: '.Create', update: '.Update' }
export const uidPattern = '^[0-9a-f]{40}(/[0-9a-f]{16})*$'

export function refTo(schemas: Schemas, desc: DescMessage | DescEnum, purpose: Purpose): Schema {
  const name = shortName(desc.typeName) + (desc.kind === 'enum' ? '' : suffixes[purpose])
  if (!schemas.has(name)) {
    // Registered before its fields are visited, since a message may contain itself.
    schemas.set(name, {})
    schemas.set(
      name,
      desc.kind === 'enum' ? enumSchema(desc) : objectSchema(schemas, desc, fieldsOf(desc, purpose), purpose),
    )
  }
  return { $ref: `#/components/schemas/${name}` }
}

/** Requests have no output-only fields, and no scope: that is in the path. */
export const fieldsOf = (desc: DescMessage, purpose: Purpose) =>
  desc.fields.filter((field) =>
    purpose === 'response' ? !isInputOnly(field) : !isOutputOnly(field) && !isScope(field),
  )

export function objectSchema(
  schemas: Schemas,
  desc: DescMessage,
  fields: DescField[],
  purpose: Purpose,
): Schema {
  const required = fields.filter((field) => isRequiredFor(field, purpose)).map(({ jsonName }) => jsonName)
  return {
    type: 'object',
    ...withDescription(commentOf(desc)),
    ...(fields.length > 0
      ? {
          properties: Object.fromEntries(
            fields.map((field) => [field.jsonName, fieldSchema(schemas, field, purpose)]),
          ),
        }
      : {}),
    ...(required.length > 0 ? { required } : {}),
  }
}

/** A response contains all fields except those that are omitted when unset. */
function isRequiredFor(field: DescField, purpose: Purpose): boolean {
  if (purpose === 'update') return false
  if (purpose === 'create') return isRequired(field)
  const isOmittedWhenUnset = field.oneof || field.fieldKind === 'message' || field.proto.proto3Optional
  return !isOmittedWhenUnset && !rulesOf(field).omitEmpty
}

export function fieldSchema(schemas: Schemas, field: DescField, purpose: Purpose): Schema {
  return {
    ...typeSchema(schemas, field, purpose),
    ...withDescription(fieldDescription(field)),
    ...(purpose === 'response' && isOutputOnly(field) ? { readOnly: true } : {}),
    ...(isInputOnly(field) ? { writeOnly: true } : {}),
    ...(field.proto.options?.deprecated ? { deprecated: true } : {}),
  }
}

/** The comment of a field, and those of its rules that a schema cannot express. */
export function fieldDescription(field: DescField): string {
  const { operatorOnly, uid } = rulesOf(field)
  const notes = [
    commentOf(field),
    field.oneof &&
      `At most one of ${field.oneof.fields.map(({ jsonName }) => `\`${jsonName}\``).join(', ')}.`,
    isImmutable(field) && 'Cannot be changed later.',
    operatorOnly && 'Only the operator of the server changes it.',
    uid && commentOf(field) === '' && 'A uid.',
  ]
  return notes.filter(Boolean).join(' ')
}

const withDescription = (description: string) => (description === '' ? {} : { description })

function typeSchema(schemas: Schemas, field: DescField, purpose: Purpose): Schema {
  const { maxItems } = rulesOf(field)
  const limit = maxItems > 0 && purpose !== 'response' ? maxItems : undefined
  switch (field.fieldKind) {
    case 'list':
      return {
        type: 'array',
        items: valueSchema(schemas, field, purpose),
        ...(limit ? { maxItems: limit } : {}),
      }
    case 'map':
      return {
        type: 'object',
        additionalProperties: valueSchema(schemas, field, purpose),
        ...(limit ? { maxProperties: limit } : {}),
      }
    default:
      return valueSchema(schemas, field, purpose)
  }
}

/** The schema of a field, or of the elements of a list or map. */
function valueSchema(schemas: Schemas, field: DescField, purpose: Purpose): Schema {
  if (field.message) return wellKnown[field.message.typeName] ?? refTo(schemas, field.message, purpose)
  if (field.enum) return refTo(schemas, field.enum, purpose)
  return { ...scalarSchema(field.scalar), ...(purpose === 'response' ? {} : ruleSchema(field)) }
}

/** Rules apply to requests only: a stored value may be older than a rule. */
function ruleSchema(field: DescField): Schema {
  const { pattern, maxLength, nonNegative, uid } = rulesOf(field)
  return {
    ...(pattern === '' ? {} : { pattern: `^(?:${pattern.replace(/^\^(.*)\$$/s, '$1')})$` }),
    ...(pattern === '' && uid ? { pattern: uidPattern } : {}),
    ...(maxLength > 0 ? { maxLength } : {}),
    ...(isRequired(field) && field.scalar === ScalarType.STRING && pattern === '' ? { minLength: 1 } : {}),
    ...(nonNegative ? { minimum: 0 } : {}),
  }
}

function enumSchema(desc: DescEnum): Schema {
  return { type: 'string', ...withDescription(commentOf(desc)), enum: desc.values.map(({ name }) => name) }
}

export function scalarSchema(type: ScalarType | undefined): Schema {
  switch (type) {
    case ScalarType.BOOL:
      return { type: 'boolean' }
    case ScalarType.BYTES:
      return { type: 'string', contentEncoding: 'base64' }
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return { type: 'number', format: type === ScalarType.FLOAT ? 'float' : 'double' }
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: 'integer', format: 'int32' }
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      // A string, since numbers in JavaScript are exact only up to 53 bits.
      return { type: 'string', pattern: '^-?[0-9]+$' }
    default:
      return { type: 'string' }
  }
}

const wellKnown: Record<string, Schema> = {
  'google.protobuf.Timestamp': { type: 'string', format: 'date-time' },
  'google.protobuf.Duration': { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]{1,9})?s$' },
  'google.protobuf.FieldMask': { type: 'string' },
  'google.protobuf.Struct': { type: 'object', additionalProperties: true },
  'google.protobuf.Empty': { type: 'object' },
}

export const responseSchema = (schemas: Schemas, desc: DescMessage): Schema =>
  wellKnown[desc.typeName] ?? refTo(schemas, desc, 'response')
