// Operations of an OpenAPI document: parameters, body and responses.
import type { DescField, JsonObject } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { isRequired, rulesOf } from '../method.ts'
import type { ErrorResponse } from './error-responses.ts'
import { errorResponsesOf } from './error-responses.ts'
import { bodyExample, exampleOf, groupUid } from './examples.ts'
import type { Operation, Service } from './operations.ts'
import type { Body, QueryParameter } from './request-parts.ts'
import type { Purpose, Schema, Schemas } from './schema.ts'
import { fieldDescription, fieldSchema, objectSchema, refTo, responseSchema, uidPattern } from './schema.ts'

/** The `default` response in OpenAPI, for all errors that an operation does not list. Its `status` is not used. */
export const otherError: ErrorResponse = {
  ...{ status: 0, name: 'Other', description: 'Any other error, in the same form.' },
  examples: {},
}

export const tagOf = ({ title, version }: Service): string => (version === 'v1' ? `${title} (v1)` : title)

export function operationObject(
  schemas: Schemas,
  service: Service,
  operation: Operation,
  path: string,
): JsonObject {
  const { id, summary, details, access, capabilities, method, body } = operation
  const parameters = parametersOf(schemas, operation, path)
  return {
    tags: [tagOf(service)],
    operationId: id,
    summary,
    description: [details, access].filter(Boolean).join('\n\n'),
    ...(capabilities.length > 0 ? { 'x-capabilities': capabilities } : {}),
    'x-grpc-method': method.grpcPath.slice(1),
    ...securityOf(operation),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: requestBodyOf(schemas, body) } : {}),
    responses: responsesOf(schemas, operation),
  } as JsonObject
}

function securityOf({ method }: Operation): { security?: JsonObject[] } {
  if (!method.access?.open) return {}
  return { security: method.access.credential === '' ? [] : [{ otherToken: [] }] }
}

/** The names of path variables are read from `path`, which operations with different verbs share in OpenAPI. */
function parametersOf(schemas: Schemas, operation: Operation, path: string): Schema[] {
  const names = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name)
  return [
    ...operation.variables.map(({ field, mayContainSlashes }, index) => ({
      name: names[index],
      in: 'path',
      required: true,
      description: fieldDescription(field),
      schema: {
        type: 'string',
        ...(mayContainSlashes && isUidPath(operation) ? { pattern: uidPattern } : {}),
      },
    })),
    ...operation.query.map((parameter) => queryParameterObject(schemas, parameter, operation)),
    ...(operation.acceptsIfMatch ? [{ $ref: '#/components/parameters/IfMatch' }] : []),
    ...(operation.method.isCreate ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
  ]
}

/** Whether path variables are uids. The parent of a group in version 1 may be a name instead. */
const isUidPath = ({ method, variables }: Operation) =>
  method.scope.length > 0 || variables.some(({ field }) => rulesOf(field).uid)

/**
 * Only these query parameters and `update_mask` get an example. An example in the contract takes
 * precedence over the value here. The values are consistent, so a client may send all of them in
 * one call. The example of `update_mask` is derived from the body.
 */
const queryExamples: Record<string, string> = {
  order_by: 'create_time desc',
  id: '', // only the example in the contract, if there is one
  descendants_of: groupUid,
  children_of: groupUid,
}

/** Keeps URLs below 8 KiB: the uid of a resource in a group of an organization has 74 characters. */
const maxUidsInUrl = 80

function queryExample(field: DescField, { body }: Operation): string | undefined {
  // In version 1, `order_by` is an enum, for which the example above is not valid.
  if (field.enum) return undefined
  if (field.name !== 'update_mask' || !body)
    return (field.name in queryExamples && rulesOf(field).example) || queryExamples[field.name] || undefined
  return Object.keys(bodyExample(body) as JsonObject).join(',')
}

/**
 * Parameters whose value may be empty. The server refuses an empty value of any other parameter, because an empty
 * filter would not restrict the call.
 */
const mayBeEmpty = new Set(['page_token', 'order_by'])
/** Published clients send these parameters of the token exchange without a value. */
const mayBeEmptyInExchange = new Set(['identity', 'identity_provider'])

function forbidEmpty(field: DescField, schema: Schema): Schema {
  if (field.scalar !== ScalarType.STRING || mayBeEmpty.has(field.name)) return schema
  if (mayBeEmptyInExchange.has(field.name) && field.parent.typeName === 'platform.oidc.ExchangeRequest')
    return schema
  if (field.fieldKind === 'list') return { ...schema, items: { ...(schema.items as Schema), minLength: 1 } }
  return field.fieldKind === 'scalar' ? { ...schema, minLength: 1 } : schema
}

function queryParameterObject(
  schemas: Schemas,
  { name, field }: QueryParameter,
  operation: Operation,
): Schema {
  const { description, deprecated, ...schema } = fieldSchema(schemas, field, 'create')
  const isUidList = field.fieldKind === 'list' && rulesOf(field).uid
  const example = queryExample(field, operation)
  return {
    name,
    in: 'query',
    ...(isRequired(field) ? { required: true } : {}),
    ...(description ? { description } : {}),
    ...(deprecated ? { deprecated } : {}),
    ...(field.fieldKind === 'map' ? { style: 'deepObject' } : {}),
    schema: isUidList ? { ...schema, maxItems: maxUidsInUrl } : forbidEmpty(field, schema),
    ...(example === undefined ? {} : { example }),
  }
}

function requestBodyOf(schemas: Schemas, body: Body): Schema {
  const { type, description, isPartial } = body
  return {
    ...(description ? { description } : {}),
    ...(isPartial ? {} : { required: true }),
    content: { [type]: { schema: bodySchema(schemas, body), example: bodyExample(body) } },
  }
}

function bodySchema(schemas: Schemas, body: Body): Schema {
  const { type, message, fields, isSingleField, isList, isPartial } = body
  if (type === 'application/x-www-form-urlencoded') return formSchema(schemas, body)
  const purpose: Purpose = isPartial ? 'update' : 'create'
  const schema = isSingleField
    ? refTo(schemas, message, purpose)
    : objectSchema(schemas, message, fields, purpose)
  // The server refuses an empty batch.
  return isList ? { type: 'array', items: schema, minItems: 1 } : schema
}

/** The fields of a form follow the rules of query parameters. */
function formSchema(schemas: Schemas, { message, fields }: Body): Schema {
  const schema = objectSchema(schemas, message, fields, 'update')
  const properties = fields.map((field) => [
    field.jsonName,
    forbidEmpty(field, fieldSchema(schemas, field, 'update')),
  ])
  return { ...schema, properties: Object.fromEntries(properties) }
}

function responsesOf(schemas: Schemas, operation: Operation): Schema {
  const errors = errorResponsesOf(operation).map(({ status, name }) => [String(status), refToResponse(name)])
  return {
    200: successResponse(schemas, operation),
    ...Object.fromEntries(errors),
    default: refToResponse(otherError.name),
  }
}

const refToResponse = (name: string) => ({ $ref: `#/components/responses/${name}` })

function successResponse(schemas: Schemas, { method }: Operation): Schema {
  const { output } = method.desc
  if (output.typeName === 'google.protobuf.Empty') return { description: 'Success. The body is empty.' }
  const schema = responseSchema(schemas, output)
  if (method.isStream)
    return {
      description: 'A stream of documents, one per line. The schema describes one line.',
      content: { 'application/jsonl': { schema } },
    }
  const example = exampleOf(output, 'response')
  const isResource = output.fields.some(({ name }) => name === 'update_time')
  const changesResource = isResource && method.bindings[0]?.verb !== 'GET'
  const headers = [
    ...(isResource ? ['ETag'] : []),
    ...(changesResource ? ['Stemma-Warning'] : []),
    ...(method.isCreate ? ['Idempotent-Replayed'] : []),
  ]
  const refs = headers.map((name) => [name, { $ref: `#/components/headers/${name}` }])
  return {
    description: isResource ? 'The resource.' : 'The response.',
    ...(headers.length > 0 ? { headers: Object.fromEntries(refs) } : {}),
    content: { 'application/json': { schema, ...(Object.keys(example).length > 0 ? { example } : {}) } },
  }
}
