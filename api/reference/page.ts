// The content of a service's page, for Markdown and HTML.
import type { DescEnum, DescField, DescMessage } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { isInputOnly, isOutputOnly, isRequired, isRequiredOnCreate, rulesOf } from '../method.ts'
import { commentOf, enumValueComment } from './comments.ts'
import { curlOf } from './curl.ts'
import type { ErrorResponse } from './error-responses.ts'
import { errorResponsesOf } from './error-responses.ts'
import { idempotencyKeyDescription } from './introduction.ts'
import type { Operation, Service } from './operations.ts'
import type { Purpose } from './schema.ts'
import { fieldDescription, fieldsOf } from './schema.ts'
import { shortName } from './service-names.ts'

export type Page = { service: Service; operations: OperationPart[]; types: TypePart[] }

export type OperationPart = {
  operation: Operation
  anchor: string
  title: string
  parameters: Row[]
  body: { type: string; description: string; rows: Row[]; typeName: string | undefined } | undefined
  response: { description: string; typeName: string | undefined }
  errors: ErrorResponse[]
  curl: string
}

/** A field or parameter. `typeName` is the type on the same page to link to, if there is one. */
export type Row = {
  name: string
  type: string
  typeName: string | undefined
  description: string
  notes: string[]
}

export type TypePart = { name: string; anchor: string; description: string } & (
  | { rows: Row[]; values?: undefined }
  | { rows?: undefined; values: { name: string; description: string }[] }
)

export function pageOf(service: Service): Page {
  const types = new Map<string, DescMessage | DescEnum>()
  const operations = service.operations.map((operation) => operationPart(operation, types))
  return { service, operations, types: [...types.values()].map(typePart) }
}

export const anchorOf = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')

/** The name of a type without its package: `Group` of `platform.iam.v2beta1.Group`. */
export const localName = (typeName: string) => shortName(typeName).replace(/^(?:[a-z]\w*\.)+/, '')

function operationPart(operation: Operation, types: Map<string, DescMessage | DescEnum>): OperationPart {
  const { id, method, verb, path, variables, query, body, acceptsIfMatch } = operation
  const { output } = method.desc
  // `.root` or a verb, such as `.get`, if the method has several operations.
  const idSuffix = id.slice(shortName(method.name).length)
  for (const { field } of query) collectField(types, field)
  if (body?.isSingleField) collectType(types, body.message)
  else for (const field of body?.fields ?? []) collectField(types, field)
  collectType(types, output)
  const purpose: Purpose = body?.isPartial ? 'update' : 'create'
  return {
    operation,
    anchor: anchorOf(method.desc.name + idSuffix),
    title: `${verb} ${path}`,
    parameters: [
      ...variables.map(({ name, field }) => ({ ...rowOf(field, 'create', name), notes: ['in the path'] })),
      ...query.map(({ name, field }) => rowOf(field, 'create', name)),
      ...(acceptsIfMatch ? [ifMatch] : []),
      ...(method.isCreate ? [idempotencyKey] : []),
    ],
    body: body && {
      type: body.type,
      description: [body.isList && `A list of ${localName(body.message.typeName)}.`, body.description]
        .filter(Boolean)
        .join(' '),
      rows: (body.isSingleField ? fieldsOf(body.message, purpose) : body.fields).map((field) =>
        rowOf(field, purpose),
      ),
      typeName: body.isSingleField ? body.message.typeName : undefined,
    },
    response: {
      description: responseDescription(operation),
      typeName: isOurs(output.typeName) ? output.typeName : undefined,
    },
    errors: errorResponsesOf(operation),
    curl: curlOf(operation),
  }
}

const ifMatch: Row = {
  ...{ name: 'If-Match', type: 'string', typeName: undefined, notes: ['header'] },
  description: 'The call fails unless this is the current ETag of the resource.',
}

const idempotencyKey: Row = {
  ...{ name: 'Idempotency-Key', type: 'string', typeName: undefined, notes: ['header'] },
  description: idempotencyKeyDescription,
}

function responseDescription({ method }: Operation): string {
  const { typeName } = method.desc.output
  if (typeName === 'google.protobuf.Empty') return 'An empty body.'
  const type = isOurs(typeName) ? localName(typeName) : 'a JSON object'
  return method.isStream ? `${type}, one per line (application/jsonl)` : type
}

const isOurs = (typeName: string) => !typeName.startsWith('google.')

function collectType(types: Map<string, DescMessage | DescEnum>, desc: DescMessage | DescEnum): void {
  if (types.has(desc.typeName) || !isOurs(desc.typeName)) return
  types.set(desc.typeName, desc)
  if (desc.kind === 'message') for (const field of desc.fields) collectField(types, field)
}

function collectField(types: Map<string, DescMessage | DescEnum>, field: DescField): void {
  const type = field.message ?? field.enum
  if (type) collectType(types, type)
}

function typePart(desc: DescMessage | DescEnum): TypePart {
  const name = localName(desc.typeName)
  const head = { name, anchor: anchorOf(`type ${name}`), description: commentOf(desc) }
  if (desc.kind === 'message') return { ...head, rows: desc.fields.map((field) => rowOf(field, 'response')) }
  return {
    ...head,
    values: desc.values.map((value) => ({
      name: value.name,
      description: enumValueComment(desc, value.name),
    })),
  }
}

function rowOf(field: DescField, purpose: Purpose, name = field.jsonName): Row {
  const type = field.message ?? field.enum
  return {
    name,
    type: typeOf(field),
    typeName: type && isOurs(type.typeName) ? type.typeName : undefined,
    description: fieldDescription(field),
    notes: notesOf(field, purpose),
  }
}

function typeOf(field: DescField): string {
  const element = elementType(field)
  if (field.fieldKind === 'list') return `list of ${element}`
  return field.fieldKind === 'map' ? `map of strings to ${element}` : element
}

function elementType({ message, enum: enumeration, scalar }: DescField): string {
  if (enumeration) return localName(enumeration.typeName)
  if (message) return wellKnown[message.typeName] ?? localName(message.typeName)
  switch (scalar) {
    case ScalarType.BOOL:
      return 'boolean'
    case ScalarType.STRING:
      return 'string'
    case ScalarType.BYTES:
      return 'base64'
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return 'integer as a string'
    default:
      return 'number'
  }
}

const wellKnown: Record<string, string> = {
  'google.protobuf.Timestamp': 'time',
  'google.protobuf.Duration': 'duration, such as 3600s',
  'google.protobuf.FieldMask': 'field names',
  'google.protobuf.Struct': 'JSON object',
  'google.protobuf.Value': 'JSON value',
}

function notesOf(field: DescField, purpose: Purpose): string[] {
  const { pattern, hint, maxLength, maxItems, uid, nonNegative } = rulesOf(field)
  const each = eachOf(field)
  const notes = [
    purpose !== 'update' && (purpose === 'create' ? isRequiredOnCreate : isRequired)(field) && 'required',
    isOutputOnly(field) && 'set by the service',
    isInputOnly(field) && 'never returned',
    field.proto.options?.deprecated && 'deprecated',
    uid && 'a uid',
    pattern && (hint || `${each}matches \`${pattern}\``),
    maxLength > 0 && `${each}at most ${maxLength} characters`,
    maxItems > 0 && `at most ${maxItems} entries`,
    nonNegative && 'zero or greater',
  ]
  return notes.filter((note) => typeof note === 'string' && note !== '') as string[]
}

/** The start of a note: the strings to which the rules of a field apply. In a map, they also apply to the keys. */
function eachOf({ fieldKind, scalar }: DescField): string {
  if (fieldKind === 'map') return scalar === ScalarType.STRING ? 'each key and value ' : 'each key '
  return fieldKind === 'list' ? 'each ' : ''
}
