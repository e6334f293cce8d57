// JSON Schemas (2020-12, the dialect of OpenAPI 3.1) of messages. A message has up to four schemas:
// for responses, for the bodies of create and of update calls, and for the elements of a batch. They
// differ in which fields exist and are required.
import type { DescEnum, DescField, DescMessage, DescOneof } from '@bufbuild/protobuf'
import { getOption, ScalarType } from '@bufbuild/protobuf'
import { exactly_one } from '../gen/platform/common/rules_pb.ts'
import { isImmutable, isInputOnly, isOutputOnly, isRequiredOnCreate, isScope, rulesOf } from '../method.ts'
import { commentOf } from './comments.ts'
import { shortName } from './service-names.ts'

export type Schema = { [key: string]: unknown }
/** `batch` is for the elements of the list in a call that creates a batch. */
export type Purpose = 'response' | 'create' | 'update' | 'batch'

/** Schemas by name. A schema is added when it is first referenced. */
export type Schemas = Map<string, Schema>

const suffixes = { response: '', create: '.Create', update: '.Update', batch: '.Batch' }
const isCreating = (purpose: Purpose) => purpose === 'create' || purpose === 'batch'
export const uidPattern = '^[0-9a-f]{40}(/[0-9a-f]{16})*$'

export function refTo(schemas: Schemas, desc: DescMessage | DescEnum, purpose: Purpose): Schema {
  const name = shortName(desc.typeName) + (desc.kind === 'enum' ? '' : suffixes[purpose])
  if (!schemas.has(name)) {
    // Registered before its fields are visited, since a message may contain itself.
    schemas.set(name, {})
    schemas.set(
      name,
      desc.kind === 'enum'
        ? enumSchema(desc)
        : {
            ...objectSchema(schemas, desc, fieldsOf(desc, purpose), purpose),
            // Updates without a mask refuse unknown keys; other requests ignore them.
            ...(purpose === 'update' ? { additionalProperties: false } : {}),
          },
    )
  }
  return { $ref: `#/components/schemas/${name}` }
}

/** Bodies of requests contain neither output-only fields nor the scope, which is in the path. */
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
    ...(purpose === 'response' ? {} : combinationRules(desc, fields, purpose)),
  }
}

/**
 * Rejects a body that sets two fields of a oneof. On create, also rejects a body that sets no field
 * of a oneof that requires one, or that breaks a rule `required_unless`. Uses `not`, because code
 * generators create a separate type for each case of `oneOf` and `anyOf`.
 */
function combinationRules(desc: DescMessage, fields: DescField[], purpose: Purpose): Schema {
  const forbiddenByOneofs = desc.oneofs.flatMap((oneof) => {
    const names = oneof.fields.filter((field) => fields.includes(field)).map(({ jsonName }) => jsonName)
    const pairs = names.flatMap((name, index) =>
      names.slice(index + 1).map((other) => ({ required: [name, other] })),
    )
    const requiresOne = isCreating(purpose) && isExactlyOne(oneof) && names.length > 1
    return [
      ...pairs,
      ...(requiresOne ? [{ not: { anyOf: names.map((name) => ({ required: [name] })) } }] : []),
    ]
  })
  const forbidden = isCreating(purpose)
    ? [...forbiddenByOneofs, ...fields.flatMap(forbiddenByRequiredUnless)]
    : forbiddenByOneofs
  return forbidden.length === 0 ? {} : { not: { anyOf: forbidden } }
}

/** Forbids a body without the field, unless the field that the rule `required_unless` names is true. */
function forbiddenByRequiredUnless(field: DescField): Schema[] {
  const condition = field.parent.fields.find(({ name }) => name === rulesOf(field).requiredUnless)?.jsonName
  if (condition === undefined) return []
  const conditionIsTrue = { properties: { [condition]: { const: true } }, required: [condition] }
  return [{ not: { anyOf: [{ required: [field.jsonName] }, conditionIsTrue] } }]
}

const isExactlyOne = (oneof: DescOneof) => getOption(oneof, exactly_one)

/** A response contains all fields except those that are omitted when unset. */
function isRequiredFor(field: DescField, purpose: Purpose): boolean {
  if (purpose === 'update') return false
  if (purpose === 'batch' && isSharedInBatch(field)) return false
  if (purpose !== 'response') return isRequiredOnCreate(field) || isOnlyChoice(field)
  const isOmittedWhenUnset = field.oneof || field.fieldKind === 'message' || field.proto.proto3Optional
  return !isOmittedWhenUnset && !rulesOf(field).omitEmpty
}

/** Whether a request that creates a batch can set the field once for all elements. */
const isSharedInBatch = ({ name, parent }: DescField) =>
  parent.file.messages.some(
    (message) =>
      message.name.startsWith('BatchCreate') && message.fields.some((field) => field.name === name),
  )

/** Whether the field is the only one of its oneof, and the oneof must be set. */
const isOnlyChoice = ({ oneof }: DescField) => oneof?.fields.length === 1 && isExactlyOne(oneof)

export function fieldSchema(schemas: Schemas, field: DescField, purpose: Purpose): Schema {
  return {
    ...typeSchema(schemas, field, purpose),
    ...withDescription(fieldDescription(field)),
    ...(purpose === 'response' && isOutputOnly(field) ? { readOnly: true } : {}),
    ...(isInputOnly(field) ? { writeOnly: true } : {}),
    ...(field.proto.options?.deprecated ? { deprecated: true } : {}),
  }
}

/** The comment of a field, followed by the rules that a schema cannot express. */
export function fieldDescription(field: DescField): string {
  const { operatorOnly, uid } = rulesOf(field)
  const notes = [
    commentOf(field),
    field.oneof && oneofNote(field.oneof),
    isImmutable(field) && 'Cannot be changed later.',
    operatorOnly && 'Only the operator of the server can change it.',
    uid && commentOf(field) === '' && 'A uid.',
  ]
  return notes.filter(Boolean).join(' ')
}

function oneofNote(oneof: DescOneof): string {
  if (isExactlyOne(oneof) && oneof.fields.length === 1) return 'Required on create.'
  const names = oneof.fields.map(({ jsonName }) => `\`${jsonName}\``).join(', ')
  return `Set ${isExactlyOne(oneof) ? 'exactly' : 'at most'} one of ${names}.`
}

const withDescription = (description: string) => (description === '' ? {} : { description })

function typeSchema(schemas: Schemas, field: DescField, purpose: Purpose): Schema {
  const { maxItems } = rulesOf(field)
  const maxEntries = maxItems > 0 && purpose !== 'response' ? maxItems : undefined
  const mustHaveEntry = isRequiredOnCreate(field) && isCreating(purpose)
  switch (field.fieldKind) {
    case 'list':
      return {
        type: 'array',
        items: valueSchema(schemas, field, purpose),
        ...(mustHaveEntry ? { minItems: 1 } : {}),
        ...(maxEntries ? { maxItems: maxEntries } : {}),
      }
    case 'map':
      return {
        type: 'object',
        ...keySchema(field, purpose),
        additionalProperties: valueSchema(schemas, field, purpose),
        ...(mustHaveEntry ? { minProperties: 1 } : {}),
        ...(maxEntries ? { maxProperties: maxEntries } : {}),
      }
    default:
      return valueSchema(schemas, field, purpose)
  }
}

/** The schema of a field, or of the elements of a list or map. */
function valueSchema(schemas: Schemas, field: DescField, purpose: Purpose): Schema {
  if (field.message)
    return wellKnown[field.message.typeName] ?? refTo(schemas, field.message, innerPurpose(field, purpose))
  if (field.enum) return refTo(schemas, field.enum, purpose)
  return { ...scalarSchema(field.scalar), ...(purpose === 'response' ? {} : ruleSchema(field)) }
}

/** A list of requests in the body of a create call is a batch. */
const innerPurpose = ({ fieldKind, message }: DescField, purpose: Purpose): Purpose =>
  purpose === 'create' && fieldKind === 'list' && message?.name.endsWith('Request') ? 'batch' : purpose

/** Rules apply to requests only: a stored value may be older than a rule. */
function ruleSchema(field: DescField): Schema {
  if (field.scalar === ScalarType.STRING)
    return { ...stringRules(field), ...(mayNotBeEmpty(field) ? { minLength: 1 } : {}) }
  if (!rulesOf(field).nonNegative) return {}
  return scalarSchema(field.scalar).type === 'string' ? { pattern: '^[0-9]+$' } : { minimum: 0 }
}

function stringRules(field: DescField): Schema {
  const { pattern, maxLength, uid } = rulesOf(field)
  return {
    ...(pattern === '' ? {} : { pattern: `^(?:${pattern.replace(/^\^(.*)\$$/s, '$1')})$` }),
    ...(pattern === '' && (uid || isScope(field)) ? { pattern: uidPattern } : {}),
    ...(maxLength > 0 ? { maxLength } : {}),
  }
}

/** A required map must have an entry, but its values may be empty. */
const mayNotBeEmpty = (field: DescField) =>
  isRequiredOnCreate(field) && field.fieldKind !== 'map' && rulesOf(field).pattern === ''

/** The rules of strings apply to the keys of a map, and to its values if these are strings. */
function keySchema(field: DescField & { fieldKind: 'map' }, purpose: Purpose): Schema {
  if (field.mapKey !== ScalarType.STRING) return { propertyNames: { pattern: '^-?[0-9]+$' } }
  const rules = purpose === 'response' ? {} : stringRules(field)
  return Object.keys(rules).length === 0 ? {} : { propertyNames: rules }
}

function enumSchema(desc: DescEnum): Schema {
  const names = desc.values.map(({ name }) => name)
  return {
    type: 'string',
    ...withDescription(commentOf(desc)),
    enum: names,
    'x-enum-varnames': names.map((name) => constantName(desc, name)),
  }
}

/**
 * The name of a value's constant in generated code, such as `IamV2beta1OrgStatusReady`. It contains the name of the
 * enum, because Go generators declare the constants of all enums in one package, and several enums have an `UNKNOWN`.
 */
function constantName({ typeName, sharedPrefix = '' }: DescEnum, value: string): string {
  const hasPrefix = value.toLowerCase().startsWith(sharedPrefix)
  const unprefixed = hasPrefix ? value.slice(sharedPrefix.length) : value
  return `${shortName(typeName)}_${unprefixed}`.split(/[._]/).map(capitalized).join('')
}

const capitalized = (word: string) => {
  const text = word === word.toUpperCase() ? word.toLowerCase() : word
  return text.slice(0, 1).toUpperCase() + text.slice(1)
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
  'google.protobuf.Duration': { type: 'string', pattern: '^-?[0-9]{1,12}(\\.[0-9]{1,9})?s$' },
  'google.protobuf.FieldMask': { type: 'string' },
  'google.protobuf.Struct': { type: 'object', additionalProperties: true },
  'google.protobuf.Value': {},
  'google.protobuf.Empty': { type: 'object' },
}

export const responseSchema = (schemas: Schemas, desc: DescMessage): Schema =>
  wellKnown[desc.typeName] ?? refTo(schemas, desc, 'response')
