// The reference of one service, put in order for people to read; how it looks is up to who renders it.
import type { DescEnum, DescField, DescMessage } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { isInputOnly, isOutputOnly, isRequired, rulesOf } from '../method.ts'
import { commentOf, enumValueComment } from './comments.ts'
import { curlOf } from './curl.ts'
import type { Fault } from './faults.ts'
import { faultsOf } from './faults.ts'
import { shortName } from './naming.ts'
import type { Operation, Service } from './operations.ts'
import type { Side } from './schema.ts'
import { fieldAbout, fieldsOf } from './schema.ts'

export type Page = { service: Service; operations: OperationPart[]; types: TypePart[] }

export type OperationPart = {
  operation: Operation
  anchor: string
  title: string
  parameters: Row[]
  body: { type: string; about: string; rows: Row[]; typeName: string | undefined } | undefined
  answer: { about: string; typeName: string | undefined }
  faults: Fault[]
  curl: string
}

/** `typeName` leads to the type on the same page, where it is one of ours. */
export type Row = { name: string; type: string; typeName: string | undefined; about: string; notes: string[] }

export type TypePart = { name: string; anchor: string; about: string } & (
  | { rows: Row[]; values?: undefined }
  | { rows?: undefined; values: { name: string; about: string }[] }
)

export function pageOf(service: Service): Page {
  const types = new Map<string, DescMessage | DescEnum>()
  const operations = service.operations.map((operation) => operationPart(operation, types))
  return { service, operations, types: [...types.values()].map(typePart) }
}

export const anchorOf = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')

/** Within its package a type needs no longer name. */
export const localName = (typeName: string) => shortName(typeName).replace(/^(?:[a-z]\w*\.)+/, '')

function operationPart(operation: Operation, types: Map<string, DescMessage | DescEnum>): OperationPart {
  const { id, method, verb, path, variables, query, body, takesIfMatch } = operation
  const { output } = method.desc
  for (const { field } of query) collectField(types, field)
  if (body?.isWhole) collect(types, body.message)
  else for (const field of body?.fields ?? []) collectField(types, field)
  collect(types, output)
  const side: Side = body?.isPartial ? 'change' : 'draft'
  return {
    operation,
    anchor: anchorOf(method.desc.name + id.slice(shortName(method.name).length)),
    title: `${verb} ${path}`,
    parameters: [
      ...variables.map(({ name, field }) => ({ ...rowOf(field, 'draft', name), notes: ['in the path'] })),
      ...query.map(({ name, field }) => rowOf(field, 'draft', name)),
      ...(takesIfMatch ? [ifMatch] : []),
    ],
    body: body && {
      type: body.type,
      about: [body.isList && `A list of ${localName(body.message.typeName)}.`, body.about]
        .filter(Boolean)
        .join(' '),
      rows: (body.isWhole ? fieldsOf(body.message, side) : body.fields).map((field) => rowOf(field, side)),
      typeName: body.isWhole ? body.message.typeName : undefined,
    },
    answer: {
      about: answerAbout(operation),
      typeName: isOurs(output.typeName) ? output.typeName : undefined,
    },
    faults: faultsOf(operation),
    curl: curlOf(operation),
  }
}

const ifMatch: Row = {
  ...{ name: 'If-Match', type: 'text', typeName: undefined, notes: ['header'] },
  about: 'The ETag of the state that the caller has seen. Any other is refused.',
}

function answerAbout({ method }: Operation): string {
  const { typeName } = method.desc.output
  if (typeName === 'google.protobuf.Empty') return 'Nothing: the body is empty.'
  const what = isOurs(typeName) ? localName(typeName) : 'a JSON object'
  return method.isStream ? `${what}, one on each line (application/jsonl)` : what
}

const isOurs = (typeName: string) => !typeName.startsWith('google.')

function collect(types: Map<string, DescMessage | DescEnum>, desc: DescMessage | DescEnum): void {
  if (types.has(desc.typeName) || !isOurs(desc.typeName)) return
  types.set(desc.typeName, desc)
  if (desc.kind === 'message') for (const field of desc.fields) collectField(types, field)
}

function collectField(types: Map<string, DescMessage | DescEnum>, { message, enum: one }: DescField): void {
  if (message) collect(types, message)
  if (one) collect(types, one)
}

function typePart(desc: DescMessage | DescEnum): TypePart {
  const name = localName(desc.typeName)
  const head = { name, anchor: anchorOf(`type ${name}`), about: commentOf(desc) }
  if (desc.kind === 'message') return { ...head, rows: desc.fields.map((field) => rowOf(field, 'answer')) }
  return {
    ...head,
    values: desc.values.map((value) => ({ name: value.name, about: enumValueComment(desc, value.name) })),
  }
}

function rowOf(field: DescField, side: Side, name = field.jsonName): Row {
  const inner = field.message ?? field.enum
  return {
    name,
    type: typeOf(field),
    typeName: inner && isOurs(inner.typeName) ? inner.typeName : undefined,
    about: fieldAbout(field),
    notes: notesOf(field, side),
  }
}

function typeOf(field: DescField): string {
  const one = elementOf(field)
  if (field.fieldKind === 'list') return `list of ${one}`
  return field.fieldKind === 'map' ? `map to ${one}` : one
}

function elementOf({ message, enum: one, scalar }: DescField): string {
  if (one) return localName(one.typeName)
  if (message) return wellKnown[message.typeName] ?? localName(message.typeName)
  switch (scalar) {
    case ScalarType.BOOL:
      return 'true or false'
    case ScalarType.STRING:
      return 'text'
    case ScalarType.BYTES:
      return 'base64'
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return 'number as text'
    default:
      return 'number'
  }
}

const wellKnown: Record<string, string> = {
  'google.protobuf.Timestamp': 'time',
  'google.protobuf.Duration': 'seconds, such as 3600s',
  'google.protobuf.FieldMask': 'field names',
  'google.protobuf.Struct': 'JSON object',
}

/** The rules of a field, in words. */
function notesOf(field: DescField, side: Side): string[] {
  const { pattern, hint, maxLength, maxItems, uid, nonNegative } = rulesOf(field)
  const each = field.fieldKind === 'list' || field.fieldKind === 'map' ? 'each ' : ''
  const notes = [
    side !== 'change' && isRequired(field) && 'required',
    isOutputOnly(field) && 'set by the service',
    isInputOnly(field) && 'never answered',
    field.proto.options?.deprecated && 'deprecated',
    uid && 'a uid',
    pattern && (hint || `${each}matches \`${pattern}\``),
    maxLength > 0 && `${each}at most ${maxLength} characters`,
    maxItems > 0 && `at most ${maxItems} entries`,
    nonNegative && 'zero or greater',
  ]
  return notes.filter((note) => typeof note === 'string' && note !== '') as string[]
}
