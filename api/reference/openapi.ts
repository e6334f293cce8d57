// The contract as an OpenAPI 3.1 document.
import type { JsonObject } from '@bufbuild/protobuf'
import { isRequired, rulesOf } from '../method.ts'
import manifest from '../package.json' with { type: 'json' }

import type { Fault } from './faults.ts'
import { faults, faultsOf, statusSchema } from './faults.ts'
import { introduction } from './introduction.ts'
import type { Body, Operation, Query, Service } from './operations.ts'
import { describeServices } from './operations.ts'
import { bodySample, groupUid, sampleOf } from './sample.ts'
import type { Schema, Schemas, Side } from './schema.ts'
import { answerSchema, fieldAbout, fieldSchema, objectSchema, refTo, uidPattern } from './schema.ts'

export type OpenApi = JsonObject & { paths: Record<string, Record<string, JsonObject>> }

export function makeOpenApi(baseUrl: string): OpenApi {
  const services = describeServices()
  const schemas: Schemas = new Map()
  const paths = pathsOf(schemas, services)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Stemma',
      version: manifest.version,
      summary: 'Organizations as a tree of groups, with identities, roles and access',
      description: introduction,
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    security: [{ accessToken: [] }],
    tags: services.map((service) => ({ name: tagOf(service), description: service.about })),
    paths,
    components: {
      securitySchemes: {
        accessToken: {
          ...{ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
          description:
            'An access token of this server: `stemma auth token`, or what `/sts/exchange` answers.',
        },
        otherToken: {
          ...{ type: 'http', scheme: 'bearer' },
          description: 'A token that is no access token of this server; each call that takes one says which.',
        },
      },
      headers: {
        ETag: {
          description: 'Names this state of the resource; to be sent as `If-Match`.',
          schema: { type: 'string' },
        },
      },
      parameters: {
        IfMatch: {
          ...{ name: 'If-Match', in: 'header', schema: { type: 'string' } },
          description: 'The ETag of the state that the caller has seen. Any other is refused.',
        },
      },
      responses: Object.fromEntries(
        [...Object.values(faults), anyOther].map((fault) => [fault.name, responseOf(fault)]),
      ),
      schemas: {
        Status: statusSchema,
        ...Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
      },
    },
  } as OpenApi // schemas hold JSON and nothing else
}

const anyOther: Fault = {
  ...{ status: 0, name: 'Other', about: 'Anything else, in the same form.' },
  examples: {},
}

export const tagOf = ({ title, version }: Service) => (version === 'v1' ? `${title} (v1)` : title)

/** Of paths that differ only in what their variables are called, OpenAPI takes one: the names are those of the first. */
function pathsOf(schemas: Schemas, services: Service[]): OpenApi['paths'] {
  const names = new Map<string, string>()
  const all = services.flatMap((service) => service.operations.map((operation) => ({ service, operation })))
  const byVerb = all.toSorted((a, b) => rank(a.operation) - rank(b.operation))
  for (const { operation } of byVerb) {
    const shape = shapeOf(operation.path)
    if (!names.has(shape)) names.set(shape, leafNamed(operation.path))
  }
  const paths: OpenApi['paths'] = {}
  for (const { service, operation } of all) {
    const path = names.get(shapeOf(operation.path)) ?? operation.path
    paths[path] = {
      ...paths[path],
      [operation.verb.toLowerCase()]: operationOf(schemas, service, operation, path),
    }
  }
  return paths
}

/** A uid is `uid` to those who read it, and `parent` to those who create below it: the reader's word goes. */
const rank = ({ verb }: Operation) => (verb === 'POST' ? 1 : 0)
const shapeOf = (path: string) => path.replaceAll(/\{[^}]*\}/g, '{}')
const leafNamed = (path: string) => path.replaceAll(/\{(?:[^}]*\.)?([^}.]*)\}/g, '{$1}')

function operationOf(schemas: Schemas, service: Service, operation: Operation, path: string): JsonObject {
  const { id, summary, about, access, capabilities, method, body } = operation
  const parameters = parametersOf(schemas, operation, path)
  return {
    tags: [tagOf(service)],
    operationId: id,
    summary,
    description: [about, access].filter(Boolean).join('\n\n'),
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

function parametersOf(schemas: Schemas, operation: Operation, path: string): Schema[] {
  const inPath = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name)
  return [
    ...operation.variables.map(({ field, isMany }, at) => ({
      name: inPath[at],
      in: 'path',
      required: true,
      description: fieldAbout(field),
      schema: { type: 'string', ...(isMany && isUidField(operation) ? { pattern: uidPattern } : {}) },
    })),
    ...operation.query.map((query) => queryParameter(schemas, query)),
    ...(operation.takesIfMatch ? [{ $ref: '#/components/parameters/IfMatch' }] : []),
  ]
}

/** v1 also takes names for groups. */
const isUidField = ({ method, variables }: Operation) =>
  method.scope.length > 0 || variables.some(({ field }) => rulesOf(field).uid)

/** What one does not guess from the type. */
const queryExamples: Record<string, string> = {
  order_by: 'created_at desc',
  update_mask: 'name,description',
  descendants_of: groupUid,
  children_of: groupUid,
}

function queryParameter(schemas: Schemas, { name, field }: Query): Schema {
  const { description, deprecated, ...schema } = fieldSchema(schemas, field, 'draft')
  return {
    name,
    in: 'query',
    ...(isRequired(field) ? { required: true } : {}),
    ...(description ? { description } : {}),
    ...(deprecated ? { deprecated } : {}),
    ...(field.fieldKind === 'map' ? { style: 'deepObject' } : {}),
    schema,
    ...(field.name in queryExamples && !field.enum ? { example: queryExamples[field.name] } : {}),
  }
}

function requestBodyOf(schemas: Schemas, body: Body): Schema {
  const { type, about, isPartial } = body
  return {
    ...(about ? { description: about } : {}),
    ...(isPartial ? {} : { required: true }),
    content: { [type]: { schema: bodySchema(schemas, body), example: bodySample(body) } },
  }
}

function bodySchema(schemas: Schemas, { message, fields, isWhole, isList, isPartial }: Body): Schema {
  const side: Side = isPartial ? 'change' : 'draft'
  const schema = isWhole ? refTo(schemas, message, side) : objectSchema(schemas, message, fields, side)
  return isList ? { type: 'array', items: schema } : schema
}

function responsesOf(schemas: Schemas, operation: Operation): Schema {
  const failures = faultsOf(operation).map(({ status, name }) => [String(status), referTo(name)])
  return {
    200: successOf(schemas, operation),
    ...Object.fromEntries(failures),
    default: referTo(anyOther.name),
  }
}

const referTo = (name: string) => ({ $ref: `#/components/responses/${name}` })

function successOf(schemas: Schemas, { method }: Operation): Schema {
  const { output } = method.desc
  if (output.typeName === 'google.protobuf.Empty') return { description: 'Done. The body is empty.' }
  const schema = answerSchema(schemas, output)
  const example = sampleOf(output, 'answer')
  if (method.isStream)
    return {
      description: 'One document after the other, each on a line of its own; the schema is that of a line.',
      content: { 'application/jsonl': { schema } },
    }
  const isResource = output.fields.some(({ name }) => name === 'update_time')
  return {
    description: isResource ? 'The resource.' : 'The answer.',
    ...(isResource ? { headers: { ETag: { $ref: '#/components/headers/ETag' } } } : {}),
    content: { 'application/json': { schema, ...(Object.keys(example).length > 0 ? { example } : {}) } },
  }
}

function responseOf({ about, examples }: Fault): Schema {
  const named = Object.entries(examples).map(([name, value]) => [
    name.replaceAll(' ', '-'),
    { summary: name, value },
  ])
  return {
    description: about,
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Status' },
        ...(named.length > 0 ? { examples: Object.fromEntries(named) } : {}),
      },
    },
  }
}
