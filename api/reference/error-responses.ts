// The errors of calls, as the reference documents them (AIP-193; docs/specification.md, Errors).
import type { JsonObject } from '@bufbuild/protobuf'
import { getOption } from '@bufbuild/protobuf'
import { not_found } from '../gen/platform/common/resource_pb.ts'
import type { Method } from '../method.ts'
import { groupUid } from './examples.ts'
import type { Operation } from './operations.ts'

export type ErrorResponse = {
  /** HTTP status. */
  status: number
  name: string
  description: string
  /** Example bodies by title. */
  examples: Record<string, JsonObject>
}

const domain = 'iam.stemma.dev'
/** Prefix of the type URLs of error details. */
export const typePrefix = 'type.googleapis.com/google.rpc.'

const bodyOf = (
  code: number,
  reason: string,
  message: string,
  details: JsonObject[] = [],
  infoFields: JsonObject = {},
): JsonObject => ({
  code,
  message,
  details: [{ '@type': `${typePrefix}ErrorInfo`, reason, domain, ...infoFields }, ...details],
})

const nameViolation = 'is required and must match "^[a-z0-9 ._-]{1,}$"'
const notEmptyMessage = 'cannot delete group with child repos'
const keyReusedMessage =
  'another request was sent with this Idempotency-Key; send each new request with a new key'

export const errorResponses = {
  invalidRequest: {
    status: 400,
    name: 'InvalidRequest',
    description:
      'The request is not valid (code 3; the details name the fields), or the state of other resources prevents the call (code 9).',
    examples: {
      'an invalid field': bodyOf(3, 'INVALID_ARGUMENT', `Invalid argument: name: ${nameViolation}`, [
        {
          '@type': `${typePrefix}BadRequest`,
          fieldViolations: [{ field: 'name', description: nameViolation }],
        },
      ]),
      'a group that is not empty': bodyOf(
        9,
        'FAILED_PRECONDITION',
        `Precondition failed: ${notEmptyMessage}`,
        [
          {
            '@type': `${typePrefix}PreconditionFailure`,
            violations: [{ type: 'RESOURCE_NOT_EMPTY', description: notEmptyMessage }],
          },
        ],
      ),
    },
  },
  unauthenticated: {
    status: 401,
    name: 'Unauthenticated',
    description: 'The access token is missing, expired or not valid (code 16).',
    examples: {
      'no token': bodyOf(
        16,
        'UNAUTHENTICATED',
        'Unauthenticated: this call needs the header Authorization: Bearer <access token>',
      ),
    },
  },
  permissionDenied: {
    status: 403,
    name: 'PermissionDenied',
    description: 'The caller lacks a capability, whether or not the resource exists (code 7).',
    examples: {
      'a missing capability': bodyOf(
        7,
        'PERMISSION_DENIED',
        `Permission denied: groups.list denied on resource ${groupUid} (or it might not exist)`,
        [],
        { metadata: { permission: 'groups.list', resource: groupUid } },
      ),
    },
  },
  notFound: {
    status: 404,
    name: 'NotFound',
    description: 'The resource does not exist, and the caller has the capability for the call (code 5).',
    examples: {
      'an unknown uid': bodyOf(5, 'NOT_FOUND', `Not found: no Group with uid ${groupUid}`, [
        {
          '@type': `${typePrefix}ResourceInfo`,
          resourceType: 'platform.iam.v2beta1.Group',
          resourceName: groupUid,
        },
      ]),
    },
  },
  conflict: {
    status: 409,
    name: 'Conflict',
    description:
      'The resource exists already (code 6), or another call changed it at the same time, or a request with the same `Idempotency-Key` is still running (code 10; try again).',
    examples: {
      'a name that exists': bodyOf(
        6,
        'ALREADY_EXISTS',
        'Already exists: the group has a repo named "static" already',
      ),
    },
  },
  changed: {
    status: 412,
    name: 'Changed',
    description: 'The resource has changed: `If-Match` is not its current ETag (code 10).',
    examples: {
      'an old ETag': bodyOf(
        10,
        'ABORTED',
        'Aborted: the resource has changed since it was read; read it again, then repeat the change',
      ),
    },
  },
  tooLarge: {
    status: 413,
    name: 'TooLarge',
    description:
      'The body is larger than 1 MiB, or larger than 64 KiB if the call needs no access token (code 8).',
    examples: {},
  },
  unsupportedType: {
    status: 415,
    name: 'UnsupportedType',
    description:
      'The type of the body is not supported (code 3). Supported are JSON and, for some calls, forms.',
    examples: {},
  },
  keyReused: {
    status: 422,
    name: 'KeyReused',
    description: 'Another request was sent with this `Idempotency-Key` (code 9).',
    examples: {
      'a reused idempotency key': bodyOf(
        9,
        'FAILED_PRECONDITION',
        `Precondition failed: ${keyReusedMessage}`,
        [
          {
            '@type': `${typePrefix}PreconditionFailure`,
            violations: [{ type: 'IDEMPOTENCY_KEY_REUSED', description: keyReusedMessage }],
          },
        ],
      ),
    },
  },
  tooManyRequests: {
    status: 429,
    name: 'TooManyRequests',
    description:
      'Too many calls of one caller, organization or address, too many calls of one caller at the same time, or too many failed attempts (code 8). `Retry-After` says when to try again, if that is known.',
    examples: {
      'a rate limit': bodyOf(
        8,
        'RESOURCE_EXHAUSTED',
        'Resource exhausted: too many list calls of this caller; try again in 1 second',
        [
          { '@type': `${typePrefix}RetryInfo`, retryDelay: '1s' },
          {
            '@type': `${typePrefix}QuotaFailure`,
            violations: [
              {
                subject: 'caller:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b/c07d22e19a5b4f36',
                description: 'list calls are limited to 500 a second, after a burst of 5000',
              },
            ],
          },
        ],
      ),
    },
  },
} satisfies Record<string, ErrorResponse>

/** The errors to document for an operation. All others, such as 500 and 503, are its `default` response in OpenAPI. */
export function errorResponsesOf(operation: Operation): ErrorResponse[] {
  const { method, body, acceptsIfMatch } = operation
  const { access } = method
  const needsToken = !access?.open || access.credential !== ''
  return [
    errorResponses.invalidRequest,
    ...(needsToken ? [errorResponses.unauthenticated] : []),
    ...(needsToken && !isListWithoutScope(method) ? [errorResponses.permissionDenied] : []),
    ...(mayNameMissing(operation) ? [errorResponses.notFound] : []),
    ...(body?.type === 'application/json' ? [errorResponses.conflict] : []),
    ...(acceptsIfMatch ? [errorResponses.changed] : []),
    ...(body ? [errorResponses.tooLarge, errorResponses.unsupportedType] : []),
    ...(method.isCreate ? [errorResponses.keyReused] : []),
    errorResponses.tooManyRequests,
  ]
}

/** Whether the call is a list of everything that the caller may see, which is empty for a caller without access. */
const isListWithoutScope = ({ desc, isRead, access, scope }: Method) =>
  /^(?:List|Export)/.test(desc.name) && isRead && Boolean(access?.capabilities.length) && scope.length === 0

/** Whether the call can be about something that does not exist. */
function mayNameMissing({ method, variables }: Operation): boolean {
  const needsScope = method.scope.length > 0 && !method.access?.scopeOptional
  return variables.length > 0 || needsScope || getOption(method.desc, not_found)
}
