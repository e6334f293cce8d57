// The contract as an OpenAPI 3.1 document.
import type { JsonObject } from '@bufbuild/protobuf'
import manifest from '../package.json' with { type: 'json' }
import type { ErrorResponse } from './error-responses.ts'
import { errorResponses } from './error-responses.ts'
import { idempotencyKeyDescription, introduction, warningDescription } from './introduction.ts'
import { operationObject, otherError, tagOf } from './openapi-operation.ts'
import type { Operation, Service } from './operations.ts'
import { describeServices } from './operations.ts'
import type { Schema, Schemas } from './schema.ts'
import { statusSchemas } from './status-schema.ts'

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
    tags: services.map((service) => ({ name: tagOf(service), description: service.description })),
    paths,
    components: componentsOf(schemas),
  } as OpenApi // schemas contain only JSON
}

const componentsOf = (schemas: Schemas): Schema => ({
  securitySchemes: {
    accessToken: {
      ...{ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      description: 'An access token of this server, from `stemma auth token` or `/sts/exchange`.',
    },
    otherToken: {
      ...{ type: 'http', scheme: 'bearer' },
      description:
        'A token that is not an access token of this server. Each call describes the token it needs.',
    },
  },
  headers: {
    ETag: {
      description: 'Identifies this version of the resource. Send it as `If-Match` with an update or delete.',
      schema: { type: 'string' },
    },
    'Idempotent-Replayed': {
      description: 'Present if this is the stored response of an earlier request with the same key.',
      schema: { type: 'string', enum: ['true'] },
    },
    'Stemma-Warning': {
      description: warningDescription,
      schema: { type: 'string' },
    },
  },
  parameters: {
    IfMatch: {
      ...{ name: 'If-Match', in: 'header', schema: { type: 'string' } },
      description: 'The call fails unless this is the current ETag of the resource.',
    },
    IdempotencyKey: {
      ...{ name: 'Idempotency-Key', in: 'header', schema: { type: 'string', minLength: 1, maxLength: 512 } },
      description: idempotencyKeyDescription,
    },
  },
  responses: Object.fromEntries(
    [...Object.values(errorResponses), otherError].map((error) => [error.name, responseObject(error)]),
  ),
  schemas: {
    ...statusSchemas,
    ...Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
  },
})

function responseObject({ description, examples }: ErrorResponse): Schema {
  const namedExamples = Object.entries(examples).map(([name, value]) => [
    name.replaceAll(' ', '-'),
    { summary: name, value },
  ])
  return {
    description,
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Status' },
        ...(namedExamples.length > 0 ? { examples: Object.fromEntries(namedExamples) } : {}),
      },
    },
  }
}

/** OpenAPI forbids two paths that differ only in the names of variables, so operations with such paths share one. */
function pathsOf(schemas: Schemas, services: Service[]): OpenApi['paths'] {
  const all = services.flatMap((service) => service.operations.map((operation) => ({ service, operation })))
  const sharedPaths = new Map<string, string>()
  for (const { operation } of all.toSorted((a, b) => rank(a.operation) - rank(b.operation))) {
    const key = withoutNames(operation.path)
    if (!sharedPaths.has(key)) sharedPaths.set(key, withLeafNames(operation.path))
  }
  const paths: OpenApi['paths'] = {}
  for (const { service, operation } of all) {
    const path = sharedPaths.get(withoutNames(operation.path)) ?? operation.path
    paths[path] = {
      ...paths[path],
      [operation.verb.toLowerCase()]: operationObject(schemas, service, operation, path),
    }
  }
  return paths
}

/** A shared path gets its variable names from a GET (`uid`) rather than from a POST (`parent`). */
const rank = ({ verb }: Operation) => (verb === 'POST' ? 1 : 0)
const withoutNames = (path: string) => path.replaceAll(/\{[^}]*\}/g, '{}')
const withLeafNames = (path: string) => path.replaceAll(/\{(?:[^}]*\.)?([^}.]*)\}/g, '{$1}')
