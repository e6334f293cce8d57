// The JSON Schema of errors.
import { typePrefix } from './error-responses.ts'
import type { Schema } from './schema.ts'

const detail = (
  type: string,
  description: string,
  properties: Record<string, Schema>,
  required: string[],
): [string, Schema] => [
  type,
  {
    type: 'object',
    description,
    properties: { '@type': { type: 'string', const: typePrefix + type }, ...properties },
    required: ['@type', ...required],
  },
]

const text: Schema = { type: 'string' }
const listOf = (properties: Record<string, Schema>): Schema => ({
  type: 'array',
  items: { type: 'object', properties, required: Object.keys(properties) },
})

const quotaViolation: Schema = {
  type: 'object',
  properties: {
    subject: {
      ...text,
      description:
        'Subject of the limit, such as a group or an IP address. Absent if the caller may not see the group.',
    },
    description: text,
    quotaMetric: { ...text, description: 'The limited quantity, such as `repos`.' },
    quotaId: { ...text, description: 'The name of the limit.' },
    quotaValue: { ...text, description: 'The limit.' },
    quotaDimensions: { type: 'object', additionalProperties: text },
  },
  required: ['description'],
}

/** The name of each type of detail, with its schema. */
const details: [string, Schema][] = [
  detail(
    'ErrorInfo',
    'The reason of the error, for programs. Always the first detail.',
    {
      reason: { type: 'string', description: 'The name of the code, such as `INVALID_ARGUMENT`.' },
      domain: { type: 'string', description: 'The setting `STEMMA_ERROR_DOMAIN` of the server.' },
      metadata: {
        type: 'object',
        additionalProperties: text,
        description: 'Variable parts of the message, such as `permission`.',
      },
    },
    ['reason', 'domain'],
  ),
  detail(
    'BadRequest',
    'The fields that are not valid.',
    { fieldViolations: listOf({ field: text, description: text }) },
    ['fieldViolations'],
  ),
  detail(
    'PreconditionFailure',
    'The conditions that are not met, such as `RESOURCE_NOT_EMPTY` or `RESOURCE_IN_USE`.',
    { violations: listOf({ type: text, description: text }) },
    ['violations'],
  ),
  detail(
    'QuotaFailure',
    'The limits that are reached.',
    { violations: { type: 'array', items: quotaViolation } },
    ['violations'],
  ),
  detail('ResourceInfo', 'The resource that does not exist.', { resourceType: text, resourceName: text }, [
    'resourceName',
  ]),
  detail(
    'RetryInfo',
    'Time to wait before the next attempt.',
    { retryDelay: { ...text, pattern: '^[0-9.]+s$' } },
    ['retryDelay'],
  ),
]

const refTo = (type: string) => `#/components/schemas/Status.${type}`

const anyDetail: Schema = {
  oneOf: details.map(([type]) => ({ $ref: refTo(type) })),
  discriminator: {
    propertyName: '@type',
    mapping: Object.fromEntries(details.map(([type]) => [typePrefix + type, refTo(type)])),
  },
}

/**
 * The schema of `google.rpc.Status`, with the details that the server sends. Each type of detail has a schema of
 * its own, which `@type` selects, so that generated clients can distinguish the types.
 */
export const statusSchemas: Record<string, Schema> = {
  Status: {
    type: 'object',
    description: 'An error (google.rpc.Status).',
    properties: {
      code: { type: 'integer', minimum: 1, maximum: 16, description: 'Code of google.rpc.Code.' },
      message: { type: 'string', description: 'Message for people: what is wrong, and what would be right.' },
      details: { type: 'array', items: anyDetail, description: 'Details for programs.' },
    },
    required: ['code', 'message', 'details'],
  },
  ...Object.fromEntries(details.map(([type, schema]) => [`Status.${type}`, schema])),
}
