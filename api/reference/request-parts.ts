// The parts of a REST request: path variables, query parameters and body.
import type { DescField, DescMessage } from '@bufbuild/protobuf'
import type { HttpBinding } from '../http-binding.ts'
import type { Method } from '../method.ts'
import { isOutputOnly } from '../method.ts'
import { commentOf } from './comments.ts'

/** A variable of the path. */
export type Variable = { name: string; field: DescField; mayContainSlashes: boolean }

/** The name is in JSON spelling, such as `pageSize`, or `uidp.childrenOf` for a field of an inner message. */
export type QueryParameter = { name: string; field: DescField }

export type Body = {
  type: 'application/json' | 'application/x-www-form-urlencoded'
  message: DescMessage
  fields: DescField[]
  /** Whether the body is the value of one field of the request message. Otherwise it has the fields of that message. */
  isSingleField: boolean
  /** Whether this single field is a list. */
  isList: boolean
  /** Whether every field may be omitted, as in a PATCH. */
  isPartial: boolean
  description: string
}

export function variablesOf(input: DescMessage, path: string): Variable[] {
  return [...path.matchAll(/\{([^=}]+)(?:=([^}]*))?\}/g)].map(([, name = '', pattern]) => {
    const field = fieldAt(input, name.split('.'))
    if (!field) throw new Error(`${path} names ${name}, which ${input.typeName} does not have`)
    return { name, field, mayContainSlashes: pattern === '**' }
  })
}

function fieldAt(message: DescMessage, [first, ...others]: string[]): DescField | undefined {
  const field = message.fields.find(({ name }) => name === first)
  if (others.length === 0 || !field?.message) return field
  return fieldAt(field.message, others)
}

export function queryOf(
  { desc, isStream }: Method,
  { body }: HttpBinding,
  variables: Variable[],
): QueryParameter[] {
  if (body === '*') return []
  const excluded = new Set([body, ...variables.map(({ name }) => name), ...(isStream ? pageFields : [])])
  return desc.input.fields
    .filter(({ name }) => !excluded.has(name))
    .flatMap((field) => parametersOf(field, ''))
}

/** A stream has the same request message as a list, but rejects these fields. */
const pageFields = ['page_size', 'page_token', 'skip']

/** Messages that are strings in JSON. Each field of any other message is a separate parameter. */
const textMessages = new Set([
  'google.protobuf.Timestamp',
  'google.protobuf.Duration',
  'google.protobuf.FieldMask',
])

function parametersOf(field: DescField, prefix: string): QueryParameter[] {
  const name = prefix + field.jsonName
  if (!field.message || textMessages.has(field.message.typeName)) return [{ name, field }]
  // A query cannot contain lists of messages.
  if (field.fieldKind !== 'message') return []
  return field.message.fields.flatMap((inner) => parametersOf(inner, `${name}.`))
}

export function bodyOf(
  input: DescMessage,
  { verb, body }: HttpBinding,
  variables: Variable[],
): Body | undefined {
  if (body === '') return undefined
  const type = 'application/json'
  if (body === '*') {
    const excluded = new Set(variables.map(({ name }) => name))
    const fields = input.fields.filter((field) => !excluded.has(field.name) && !isOutputOnly(field))
    return {
      type,
      message: input,
      fields,
      isSingleField: false,
      isList: false,
      isPartial: false,
      description: '',
    }
  }
  const field = input.fields.find(({ name }) => name === body)
  if (!field?.message) throw new Error(`${input.typeName} has no message field ${body} to use as the body`)
  return {
    type,
    message: field.message,
    fields: field.message.fields,
    isSingleField: true,
    isList: field.fieldKind === 'list',
    isPartial: verb === 'PATCH',
    description: commentOf(field),
  }
}

/** For a POST whose binding names no body: its parameters are sent in a form or in the query. */
export function formOf(message: DescMessage): Body {
  const type = 'application/x-www-form-urlencoded'
  const description = 'The fields can also be sent in the query.'
  return {
    type,
    message,
    fields: message.fields,
    isSingleField: false,
    isList: false,
    isPartial: true,
    description,
  }
}
