// The errors of calls, as the reference documents them (AIP-193; docs/specification.md, Errors).
import type { JsonObject } from '@bufbuild/protobuf'
import type { Operation } from './operations.ts'
import { groupUid } from './sample.ts'
import type { Schema } from './schema.ts'

export type Fault = { status: number; name: string; about: string; examples: Record<string, JsonObject> }

const domain = 'iam.stemma.dev'
const typePrefix = 'type.googleapis.com/google.rpc.'

const body = (
  code: number,
  reason: string,
  message: string,
  detail: JsonObject[] = [],
  more: JsonObject = {},
): JsonObject => ({
  code,
  message,
  details: [{ '@type': `${typePrefix}ErrorInfo`, reason, domain, ...more }, ...detail],
})

const nameFault = 'is required and must match "^[a-z0-9 ._-]{1,}$"'
const notEmpty = 'cannot delete group with child repos'

export const faults = {
  invalid: {
    status: 400,
    name: 'InvalidRequest',
    about:
      'Something in the request is wrong (code 3, with the fields), or what is there stands against it (code 9).',
    examples: {
      'a field that is wrong': body(3, 'INVALID_ARGUMENT', `Invalid argument: name: ${nameFault}`, [
        {
          '@type': `${typePrefix}BadRequest`,
          fieldViolations: [{ field: 'name', description: nameFault }],
        },
      ]),
      'a group that is not empty': body(9, 'FAILED_PRECONDITION', `Precondition failed: ${notEmpty}`, [
        {
          '@type': `${typePrefix}PreconditionFailure`,
          violations: [{ type: 'RESOURCE_NOT_EMPTY', description: notEmpty }],
        },
      ]),
    },
  },
  unauthenticated: {
    status: 401,
    name: 'Unauthenticated',
    about: 'The bearer is missing, expired or not to be trusted (code 16).',
    examples: {
      'no token': body(
        16,
        'UNAUTHENTICATED',
        'Unauthenticated: this call needs the header Authorization: Bearer <access token>',
      ),
    },
  },
  denied: {
    status: 403,
    name: 'PermissionDenied',
    about: 'The caller does not hold what is needed there, whether or not it exists (code 7).',
    examples: {
      'a capability that is not held': body(
        7,
        'PERMISSION_DENIED',
        `Permission denied: groups.list denied on resource ${groupUid} (or it might not exist)`,
        [],
        { metadata: { permission: 'groups.list', resource: groupUid } },
      ),
    },
  },
  absent: {
    status: 404,
    name: 'NotFound',
    about: 'There is none, in a place where the caller would see it (code 5).',
    examples: {
      'an unknown uid': body(5, 'NOT_FOUND', `Not found: no Group with uid ${groupUid}`, [
        {
          '@type': `${typePrefix}ResourceInfo`,
          resourceType: 'platform.iam.v2beta1.Group',
          resourceName: groupUid,
        },
      ]),
    },
  },
  taken: {
    status: 409,
    name: 'Conflict',
    about: 'It exists already (code 6), or others changed it at the same moment: try again (code 10).',
    examples: {
      'a name that is taken': body(
        6,
        'ALREADY_EXISTS',
        'Already exists: the group has a repo named "static" already',
      ),
    },
  },
  changed: {
    status: 412,
    name: 'Changed',
    about: 'It was changed since: `If-Match` names another ETag than it has (code 10).',
    examples: {
      'an old ETag': body(
        10,
        'ABORTED',
        'Aborted: the resource has changed since it was read; read it again, then repeat the change',
      ),
    },
  },
  large: {
    status: 413,
    name: 'TooLarge',
    about: 'The body is longer than 1 MiB (code 8).',
    examples: {},
  },
  type: {
    status: 415,
    name: 'UnsupportedType',
    about: 'The body is something other than JSON, or than a form where one is taken (code 3).',
    examples: {},
  },
  often: {
    status: 429,
    name: 'TooMany',
    about:
      'Too often, or too much at a time (code 8). `Retry-After` says when to try again, where that is known.',
    examples: {},
  },
} satisfies Record<string, Fault>

/** Those that an operation may answer with; others are told once, for all. */
export function faultsOf(operation: Operation): Fault[] {
  const { method, variables, body: sent, takesIfMatch } = operation
  const { access } = method
  const takesToken = !access?.open || access.credential !== ''
  return [
    faults.invalid,
    ...(takesToken ? [faults.unauthenticated, faults.denied] : []),
    ...(variables.length > 0 ? [faults.absent] : []),
    ...(sent?.type === 'application/json' ? [faults.taken] : []),
    ...(takesIfMatch ? [faults.changed] : []),
    ...(sent ? [faults.large, faults.type] : []),
    ...(method.isStream || access?.open ? [faults.often] : []),
  ]
}

const detail = (
  type: string,
  about: string,
  properties: Record<string, Schema>,
  required: string[],
): Schema => ({
  type: 'object',
  description: about,
  properties: { '@type': { const: typePrefix + type }, ...properties },
  required: ['@type', ...required],
})

const text: Schema = { type: 'string' }
const listOf = (properties: Record<string, Schema>): Schema => ({
  type: 'array',
  items: { type: 'object', properties, required: Object.keys(properties) },
})

const details = [
  detail(
    'ErrorInfo',
    'Which error it is, for programs. It is always the first.',
    {
      reason: { type: 'string', description: 'The name of the code, such as `INVALID_ARGUMENT`.' },
      domain: { type: 'string', description: 'Who says so; `STEMMA_ERROR_DOMAIN`.' },
      metadata: { type: 'object', additionalProperties: text, description: 'More, such as `permission`.' },
    },
    ['reason', 'domain'],
  ),
  detail(
    'BadRequest',
    'What is wrong with which field.',
    { fieldViolations: listOf({ field: text, description: text }) },
    ['fieldViolations'],
  ),
  detail(
    'PreconditionFailure',
    'What stands against it, such as `RESOURCE_NOT_EMPTY` or `RESOURCE_IN_USE`.',
    { violations: listOf({ type: text, description: text }) },
    ['violations'],
  ),
  detail('ResourceInfo', 'What is not there.', { resourceType: text, resourceName: text }, ['resourceName']),
  detail('RetryInfo', 'When to try again.', { retryDelay: { ...text, pattern: '^[0-9.]+s$' } }, [
    'retryDelay',
  ]),
]

/** `google.rpc.Status`. */
export const statusSchema: Schema = {
  type: 'object',
  description: 'What went wrong (google.rpc.Status).',
  properties: {
    code: { type: 'integer', minimum: 1, maximum: 16, description: 'A code of google.rpc.Code.' },
    message: { type: 'string', description: 'What went wrong, and what would be right, for people.' },
    details: { type: 'array', items: { anyOf: details }, description: 'The same for programs.' },
  },
  required: ['code', 'message', 'details'],
}
