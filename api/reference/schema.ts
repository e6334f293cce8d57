// JSON Schemas (2020-12, the dialect of OpenAPI 3.1) of messages. A message has up to three: what is answered, what
// creates, and what changes a part. They differ in which fields are there, and in which must be.
import type { DescEnum, DescField, DescMessage } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { isImmutable, isInputOnly, isOutputOnly, isRequired, isScope, rulesOf } from '../method.ts'
import { commentOf } from './comments.ts'
import { shortName } from './naming.ts'

export type Schema = { [key: string]: unknown }
export type Side = 'answer' | 'draft' | 'change'

/** Schemas by name, filled as they are referred to. */
export type Schemas = Map<string, Schema>

const suffixes = { answer: '', draft: '.Draft', change: '.Change' }
export const uidPattern = '^[0-9a-f]{40}(/[0-9a-f]{16})*$'

export function refTo(schemas: Schemas, desc: DescMessage | DescEnum, side: Side): Schema {
  const name = shortName(desc.typeName) + (desc.kind === 'enum' ? '' : suffixes[side])
  if (!schemas.has(name)) {
    // Registered before its fields are looked at, since a message may contain itself.
    schemas.set(name, {})
    schemas.set(
      name,
      desc.kind === 'enum' ? enumSchema(desc) : objectSchema(schemas, desc, fieldsOf(desc, side), side),
    )
  }
  return { $ref: `#/components/schemas/${name}` }
}

/** The service sets what is output only, and the place of a resource is said by the path. */
export const fieldsOf = (desc: DescMessage, side: Side) =>
  desc.fields.filter((field) =>
    side === 'answer' ? !isInputOnly(field) : !isOutputOnly(field) && !isScope(field),
  )

export function objectSchema(schemas: Schemas, desc: DescMessage, fields: DescField[], side: Side): Schema {
  const required = fields.filter((field) => mustBeThere(field, side)).map(({ jsonName }) => jsonName)
  return {
    type: 'object',
    ...described(commentOf(desc)),
    ...(fields.length > 0
      ? {
          properties: Object.fromEntries(
            fields.map((field) => [field.jsonName, fieldSchema(schemas, field, side)]),
          ),
        }
      : {}),
    ...(required.length > 0 ? { required } : {}),
  }
}

/** What is answered always holds all but what is absent when unset; what is sent may leave out all but the required. */
function mustBeThere(field: DescField, side: Side): boolean {
  if (side === 'change') return false
  if (side === 'draft') return isRequired(field)
  const mayBeAbsent = field.oneof || field.fieldKind === 'message' || field.proto.proto3Optional
  return !mayBeAbsent && !rulesOf(field).omitEmpty
}

export function fieldSchema(schemas: Schemas, field: DescField, side: Side): Schema {
  return {
    ...shapeOf(schemas, field, side),
    ...described(fieldAbout(field)),
    ...(side === 'answer' && isOutputOnly(field) ? { readOnly: true } : {}),
    ...(isInputOnly(field) ? { writeOnly: true } : {}),
    ...(field.proto.options?.deprecated ? { deprecated: true } : {}),
  }
}

/** What the proto says of a field, and what its rules say that no schema can. */
export function fieldAbout(field: DescField): string {
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

const described = (description: string) => (description === '' ? {} : { description })

function shapeOf(schemas: Schemas, field: DescField, side: Side): Schema {
  const { maxItems } = rulesOf(field)
  const most = maxItems > 0 && side !== 'answer' ? maxItems : undefined
  switch (field.fieldKind) {
    case 'list':
      return { type: 'array', items: valueSchema(schemas, field, side), ...(most ? { maxItems: most } : {}) }
    case 'map':
      return {
        type: 'object',
        additionalProperties: valueSchema(schemas, field, side),
        ...(most ? { maxProperties: most } : {}),
      }
    default:
      return valueSchema(schemas, field, side)
  }
}

/** Of the field, or of each of its elements. */
function valueSchema(schemas: Schemas, field: DescField, side: Side): Schema {
  if (field.message) return wellKnown[field.message.typeName] ?? refTo(schemas, field.message, side)
  if (field.enum) return refTo(schemas, field.enum, side)
  return { ...scalarSchema(field.scalar), ...(side === 'answer' ? {} : ruleSchema(field)) }
}

/** Rules bind what is sent. What is answered may be older than they are. */
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
  return { type: 'string', ...described(commentOf(desc)), enum: desc.values.map(({ name }) => name) }
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
      // As text, because numbers of JavaScript do not reach that far.
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

export const answerSchema = (schemas: Schemas, desc: DescMessage) =>
  wellKnown[desc.typeName] ?? refTo(schemas, desc, 'answer')
