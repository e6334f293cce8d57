// The REST operations of the contract. OpenAPI, Markdown and the pages of the reference are made from them.
import type { DescService } from '@bufbuild/protobuf'
import { getOption } from '@bufbuild/protobuf'
import { CapabilitySchema, info } from '../gen/capabilities/capability_pb.ts'
import { services } from '../gen/services.ts'
import type { HttpBinding } from '../http-binding.ts'
import type { Method } from '../method.ts'
import { describeMethods, isOutputOnly, isRequired } from '../method.ts'
import { commentOf, splitSummary } from './comments.ts'
import type { Body, QueryParameter, Variable } from './request-parts.ts'
import { bodyOf, formOf, queryOf, variablesOf } from './request-parts.ts'
import { shortName, slugOf, titleOf, versionOf } from './service-names.ts'

export type Service = {
  desc: DescService
  slug: string
  title: string
  version: string
  description: string
  operations: Operation[]
}

export type Operation = {
  id: string
  method: Method
  verb: string
  /** Such as `/iam/v2beta1/groups/{group.uid}`. */
  path: string
  variables: Variable[]
  query: QueryParameter[]
  body: Body | undefined
  /** The first sentence of the description, without its full stop. */
  summary: string
  /** The description without its first sentence. */
  details: string
  /** Names of the capabilities, all of which are required. */
  capabilities: string[]
  /** The required access as a sentence. */
  access: string
  acceptsIfMatch: boolean
}

/** All services: v2 before v1, then in the order of `domains`, then by name. */
export function describeServices(): Service[] {
  return services
    .map((desc) => ({
      desc,
      slug: slugOf(desc),
      title: titleOf(desc),
      version: versionOf(desc.typeName),
      description: commentOf(desc),
      operations: describeMethods(desc).flatMap(operationsOf),
    }))
    .sort((a, b) => sortKey(a).localeCompare(sortKey(b), 'en'))
}

const domains = ['iam', 'registry', 'vulnerabilities', 'advisory', 'events']

function sortKey({ version, slug }: Service): string {
  const index = domains.indexOf(slug.split('-')[0] ?? '')
  return `${version === 'v1' ? 1 : 0} ${index < 0 ? domains.length : index} ${slug}`
}

function operationsOf(method: Method): Operation[] {
  return method.bindings.flatMap((binding, index) => {
    const id = shortName(method.name) + (index === 0 ? '' : `.${binding.verb.toLowerCase()}`)
    const operation = operationOf(method, binding, id)
    return operation.variables.some(mayBeEmpty) ? [operation, atRoot(operation)] : [operation]
  })
}

/** OpenAPI has no empty path variables, so the same call without its parent is a separate operation. */
function atRoot(operation: Operation): Operation {
  const { id, path } = operation
  return {
    ...operation,
    id: `${id}.root`,
    path: path.replace(/\/\{[^}]*\}$/, ''),
    variables: [],
    capabilities: [],
    access: 'Needs an access token, but no capability.',
  }
}

const mayBeEmpty = ({ field, mayContainSlashes }: Variable) =>
  mayContainSlashes && !isRequired(field) && !isOutputOnly(field)

function operationOf(method: Method, binding: HttpBinding, id: string): Operation {
  const { desc } = method
  const variables = variablesOf(desc.input, binding.path)
  const { summary, details } = splitSummary(commentOf(desc))
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
    details,
    capabilities,
    access: accessOf(method, capabilities, variables),
    acceptsIfMatch: ['PATCH', 'PUT', 'DELETE'].includes(binding.verb) && method.scope.length > 0,
  }
}

export function capabilityName(number: number): string {
  const value = CapabilitySchema.values.find((candidate) => candidate.number === number)
  return value ? getOption(value, info).name : String(number)
}

function accessOf({ access, scope }: Method, capabilities: string[], variables: Variable[]): string {
  if (access?.open) {
    const { credential } = access
    return credential === ''
      ? 'Open: needs no token.'
      : `Open: needs no access token. The bearer token is ${credential}.`
  }
  if (access?.operators) return 'Only for operators of the server.'
  if (capabilities.length === 0) return 'Needs an access token, but no capability.'
  const names = capabilities.map((name) => `\`${name}\``).join(' and ')
  if (access?.place) return `Needs ${names} ${access.place}.`
  if (scope.length + variables.length > 0) return `Needs ${names} in the group or above it.`
  return `Returns resources at or below the groups in which the caller has ${names}.`
}
