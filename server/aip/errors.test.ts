import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CodeSchema } from '@stemma/api/gen/google/rpc/code_pb.ts'
import { Code, codeName, codePrefix, httpStatus } from './code.ts'
import {
  aborted,
  deadlineExceeded,
  failedPrecondition,
  internal,
  invalidArgument,
  invalidField,
  malformed,
  methodNotAllowed,
  noSuchPath,
  notFound,
  operatorOnly,
  permissionDenied,
  StatusError,
  statusOf,
  tooLarge,
  unauthenticated,
  unavailable,
} from './errors.ts'
import { toCamel } from './field-path.ts'

const domain = 'iam.stemma.test'

describe('a code', () => {
  const publishedCodes = CodeSchema.values as readonly { number: Code; name: string }[]

  test('has the name that it has in google.rpc.Code', () => {
    for (const { number, name } of publishedCodes) assert.equal(codeName(number), name)
    assert.equal(codeName(99 as Code), 'UNKNOWN')
  })

  test('has the HTTP status of the public mapping', () => {
    const statuses = publishedCodes.map(({ number }) => [number, httpStatus(number)])
    assert.deepEqual(Object.fromEntries(statuses), {
      ...{ 0: 200, 1: 499, 2: 500, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429 },
      ...{ 9: 400, 10: 409, 11: 400, 12: 501, 13: 500, 14: 503, 15: 500, 16: 401 },
    })
  })

  test('has a prefix for messages', () => {
    assert.equal(codePrefix(Code.INVALID_ARGUMENT), 'Invalid argument')
    assert.equal(codePrefix(Code.FAILED_PRECONDITION), 'Precondition failed')
    for (const { number } of publishedCodes.slice(1)) assert.match(codePrefix(number), /^[A-Z][a-z ]+$/)
  })
})

describe('a status', () => {
  const errors = [
    ...[
      invalidField('name', 'is wrong'),
      malformed('no JSON'),
      tooLarge('big', 413),
      unauthenticated('who?'),
    ],
    ...[
      permissionDenied('groups.list', 'aa'),
      permissionDenied('groups.create', ''),
      operatorOnly('kind', 'aa'),
    ],
    ...[
      notFound('platform.iam.v2beta1.Group', 'aa'),
      noSuchPath(),
      methodNotAllowed('GET'),
      aborted('raced'),
    ],
    ...[
      failedPrecondition('RESOURCE_NOT_EMPTY', 'full'),
      deadlineExceeded(),
      unavailable('down'),
      internal('x'),
    ],
  ]

  test('has reason and domain in its first detail, and no two details of the same type', () => {
    for (const error of errors) {
      const { code, message, details } = statusOf(error, domain)
      const [info] = details
      assert.equal(info?.type, 'ErrorInfo')
      assert.equal(info.fields.reason, codeName(code))
      assert.equal(info.fields.domain, domain)
      assert.equal(new Set(details.map(({ type }) => type)).size, details.length)
      assert.ok(message.startsWith(`${codePrefix(code)}: `), message)
    }
  })

  test('has a reason and metadata that AIP-193 allows', () => {
    for (const error of errors) {
      assert.match(codeName(error.code), /^[A-Z][A-Z0-9_]{1,61}[A-Z0-9]$/)
      for (const key of Object.keys(error.metadata)) assert.match(key, /^[a-z][a-zA-Z0-9-_]{1,63}$/)
    }
  })

  test('of a wrong field names the field', () => {
    assert.deepEqual(statusOf(invalidField('name', 'must match "^x$"'), domain), {
      code: 3,
      message: 'Invalid argument: name: must match "^x$"',
      details: [
        { type: 'ErrorInfo', fields: { reason: 'INVALID_ARGUMENT', domain } },
        {
          type: 'BadRequest',
          fields: { fieldViolations: [{ field: 'name', description: 'must match "^x$"' }] },
        },
      ],
    })
  })

  test('of several wrong fields names each, and the first in its message', () => {
    const error = invalidArgument(
      { field: 'claim_match.issuer', description: 'is required' },
      { field: 'name', description: 'is too long' },
    )
    const { message, details } = statusOf(error, domain, toCamel)
    assert.equal(message, 'Invalid argument: claimMatch.issuer: is required')
    assert.deepEqual(details[1]?.fields.fieldViolations, [
      { field: 'claimMatch.issuer', description: 'is required' },
      { field: 'name', description: 'is too long' },
    ])
    assert.equal(statusOf(error, domain).message, 'Invalid argument: claim_match.issuer: is required')
  })

  test('of a group that is not empty has a RESOURCE_NOT_EMPTY violation', () => {
    const error = failedPrecondition('RESOURCE_NOT_EMPTY', 'cannot delete group with child repos')
    assert.equal(error.http, 400)
    assert.deepEqual(statusOf(error, domain), {
      code: 9,
      message: 'Precondition failed: cannot delete group with child repos',
      details: [
        { type: 'ErrorInfo', fields: { reason: 'FAILED_PRECONDITION', domain } },
        {
          type: 'PreconditionFailure',
          fields: {
            violations: [{ type: 'RESOURCE_NOT_EMPTY', description: 'cannot delete group with child repos' }],
          },
        },
      ],
    })
  })

  test('of a denied call names permission and resource, but does not say whether the resource exists', () => {
    const { message, details } = statusOf(permissionDenied('groups.list', 'aa'), domain)
    assert.equal(message, 'Permission denied: groups.list denied on resource aa (or it might not exist)')
    assert.deepEqual(details[0]?.fields.metadata, { permission: 'groups.list', resource: 'aa' })
  })

  test('of a missing resource contains its type and uid', () => {
    const { details, message } = statusOf(notFound('platform.iam.v2beta1.Group', 'aa'), domain)
    assert.equal(message, 'Not found: no Group with uid aa')
    assert.deepEqual(details[1], {
      type: 'ResourceInfo',
      fields: { resourceType: 'platform.iam.v2beta1.Group', resourceName: 'aa' },
    })
  })

  test('shortens the uid that it sends back', () => {
    const { message } = notFound('platform.iam.v2beta1.Group', `\ud800${'x'.repeat(100_000)}`)
    assert.ok(message.isWellFormed())
    assert.ok(message.length < 300)
  })

  test('of an internal error contains nothing of its cause, which is kept for the log', () => {
    const cause = new Error('select * from secrets')
    const error = internal(cause)
    assert.equal(error.cause, cause)
    assert.doesNotMatch(JSON.stringify(statusOf(error, domain)), /secrets|stack/)
    assert.equal(error.http, 500)
  })

  test('asks for a retry only if that can help', () => {
    for (const error of errors) {
      const asksForRetry = statusOf(error, domain).details.some(({ type }) => type === 'RetryInfo')
      assert.equal(asksForRetry, error.code === Code.UNAVAILABLE)
      assert.equal(error.headers['retry-after'] !== undefined, asksForRetry)
    }
  })
})

describe('an error', () => {
  test('has the HTTP status of its code unless another is given', () => {
    assert.equal(new StatusError(Code.ABORTED, 'raced').http, 409)
    assert.equal(aborted('stale', 412).http, 412)
    assert.equal(tooLarge('body', 413).http, 413)
    assert.equal(methodNotAllowed('GET, HEAD').http, 405)
    assert.equal(methodNotAllowed('GET, HEAD').code, Code.UNIMPLEMENTED)
    assert.equal(methodNotAllowed('GET, HEAD').headers.allow, 'GET, HEAD')
  })

  test('for missing credentials has a WWW-Authenticate header, to which the door adds the realm', () => {
    assert.equal(unauthenticated('who?').headers['www-authenticate'], '')
    assert.equal(unauthenticated('who?', 'error="x"').headers['www-authenticate'], 'error="x"')
  })
})
