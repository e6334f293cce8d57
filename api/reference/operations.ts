// Every call of the contract as REST has it: what the reference, in whatever form, is made from.
import type { DescField, DescMessage, DescService } from '@bufbuild/protobuf'
import { getOption } from '@bufbuild/protobuf'
import { CapabilitySchema, info } from '../gen/capabilities/capability_pb.ts'
import { services } from '../gen/services.ts'
import type { HttpBinding } from '../http-binding.ts'
import type { Method } from '../method.ts'
import { describeMethods, isOutputOnly, isRequired } from '../method.ts'
import { commentOf, splitSummary } from './comments.ts'
import { shortName, slugOf, titleOf, versionOf } from './naming.ts'

export type Service = {
  desc: DescService
  slug: string
  title: string
  version: string
  about: string
  operations: Operation[]
}

export type Operation = {
  id: string
  method: Method
  verb: string
  /** `/iam/v2beta1/groups/{group.uid}` */
  path: string
  variables: Variable[]
  query: Query[]
  body: Body | undefined
  summary: string
  about: string
  /** Dotted names, all of which are needed. */
  capabilities: string[]
  /** In words. */
  access: string
  takesIfMatch: boolean
}

/** A part of the path; one that `isMany` may hold slashes. */
export type Variable = { name: string; field: DescField; isMany: boolean }

/** Dotted where a filter lies in a message of its own, in JSON spelling. */
export type Query = { name: string; field: DescField }

export type Body = {
  type: 'application/json' | 'application/x-www-form-urlencoded'
  message: DescMessage
  fields: DescField[]
  /** Whether the body is the message itself, and not what the path leaves of a request. */
  isWhole: boolean
  /** Whether it is a list of such messages. */
  isList: boolean
  /** Whether anything may be left out, as in a PATCH. */
  isPartial: boolean
  about: string
}

/** v2 before v1, what others hang on before what hangs on it, and by name. */
export function describeServices(): Service[] {
  return services
    .map((desc) => ({
      desc,
      slug: slugOf(desc),
      title: titleOf(desc),
      version: versionOf(desc.typeName),
      about: commentOf(desc),
      operations: describeMethods(desc).flatMap(operationsOf),
    }))
    .sort((a, b) => order(a).localeCompare(order(b), 'en'))
}

const domains = ['iam', 'registry', 'vulnerabilities', 'events']

const order = ({ version, slug }: Service) => {
  const at = domains.indexOf(slug.split('-')[0] ?? '')
  return `${version === 'v1' ? 1 : 0} ${at < 0 ? domains.length : at} ${slug}`
}

function operationsOf(method: Method): Operation[] {
  return method.bindings.flatMap((binding, at) => {
    const id = shortName(method.name) + (at === 0 ? '' : `.${binding.verb.toLowerCase()}`)
    const operation = operationOf(method, binding, id)
    return operation.variables.some(mayBeEmpty) ? [operation, atRoot(operation)] : [operation]
  })
}

/** A path variable that may be empty makes two paths of one, since no path can say so. */
function atRoot(operation: Operation): Operation {
  const { id, path } = operation
  return {
    ...operation,
    id: `${id}.root`,
    path: path.replace(/\/\{[^}]*\}$/, ''),
    variables: [],
    capabilities: [],
    access: 'Names no place, so no capability is asked for.',
  }
}

const mayBeEmpty = ({ field, isMany }: Variable) => isMany && !isRequired(field) && !isOutputOnly(field)

function operationOf(method: Method, binding: HttpBinding, id: string): Operation {
  const { desc } = method
  const variables = variablesOf(desc.input, binding.path)
  const { summary, rest } = splitSummary(commentOf(desc))
  const capabilities = (method.access?.capabilities ?? []).map(capabilityName)
  const isForm = binding.verb === 'POST' && binding.body === ''
  return {
    id,
    method,
    verb: binding.verb,
    path: binding.path.replaceAll(/\{([^=}]+)(?:=[^}]*)?\}/g, '{$1}'),
    variables,
    query: isForm ? [] : queryOf(method, binding, variables),
    body: isForm ? formOf(desc.input) : bodyOf(desc.input, binding, variables),
    summary: summary.replace(/\.$/, ''),
    about: rest,
    capabilities,
    access: accessOf(method, capabilities, variables),
    takesIfMatch: ['PATCH', 'PUT', 'DELETE'].includes(binding.verb) && method.scope.length > 0,
  }
}

function variablesOf(input: DescMessage, path: string): Variable[] {
  return [...path.matchAll(/\{([^=}]+)(?:=([^}]*))?\}/g)].map(([, name = '', pattern]) => {
    const field = fieldAt(input, name.split('.'))
    if (!field) throw new Error(`${path} names ${name}, which ${input.typeName} does not have`)
    return { name, field, isMany: pattern === '**' }
  })
}

function fieldAt(message: DescMessage, [first, ...others]: string[]): DescField | undefined {
  const field = message.fields.find(({ name }) => name === first)
  if (others.length === 0 || !field?.message) return field
  return fieldAt(field.message, others)
}

function queryOf({ desc, isStream }: Method, { body }: HttpBinding, variables: Variable[]): Query[] {
  if (body === '*') return []
  const bound = new Set([body, ...variables.map(({ name }) => name), ...(isStream ? paging : [])])
  return desc.input.fields.filter(({ name }) => !bound.has(name)).flatMap((field) => leavesOf(field, ''))
}

/** A stream is asked for what a list is asked for, but has no pages and refuses these. */
const paging = ['page_size', 'page_token', 'skip']

/** What JSON writes as text is one value; any other message is looked into. */
const texts = new Set(['google.protobuf.Timestamp', 'google.protobuf.Duration', 'google.protobuf.FieldMask'])

function leavesOf(field: DescField, prefix: string): Query[] {
  const name = prefix + field.jsonName
  if (field.fieldKind !== 'message' || texts.has(field.message.typeName)) return [{ name, field }]
  return field.message.fields.flatMap((inner) => leavesOf(inner, `${name}.`))
}

function bodyOf(input: DescMessage, { verb, body }: HttpBinding, variables: Variable[]): Body | undefined {
  if (body === '') return undefined
  const type = 'application/json'
  if (body === '*') {
    const bound = new Set(variables.map(({ name }) => name))
    const fields = input.fields.filter((field) => !bound.has(field.name) && !isOutputOnly(field))
    return { type, message: input, fields, isWhole: false, isList: false, isPartial: false, about: '' }
  }
  const field = input.fields.find(({ name }) => name === body)
  if (!field?.message) throw new Error(`${input.typeName} has no message ${body} for the body`)
  return {
    type,
    message: field.message,
    fields: field.message.fields,
    isWhole: true,
    isList: field.fieldKind === 'list',
    isPartial: verb === 'PATCH',
    about: commentOf(field),
  }
}

/** What a POST without a JSON body is asked for comes as a form, or in the query. */
function formOf(message: DescMessage): Body {
  const type = 'application/x-www-form-urlencoded'
  const about = 'May be sent in the query as well.'
  return { type, message, fields: message.fields, isWhole: false, isList: false, isPartial: true, about }
}

export function capabilityName(number: number): string {
  const value = CapabilitySchema.values.find((one) => one.number === number)
  return value ? getOption(value, info).name : String(number)
}

function accessOf({ access, scope }: Method, capabilities: string[], variables: Variable[]): string {
  if (access?.open) {
    const { credential } = access
    return credential === '' ? 'Open: takes no token.' : `Takes no access token; the bearer is ${credential}.`
  }
  if (capabilities.length === 0) return 'Any access token will do.'
  const names = capabilities.map((name) => `\`${name}\``).join(' and ')
  if (scope.length + variables.length > 0) return `Needs ${names} in that place or above it.`
  return `Reaches what lies where the caller holds ${names}.`
}
