import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  failedPrecondition,
  invalidArgument,
  invalidField,
  noSuchPath,
  unavailable,
} from '../../aip/errors.ts'
import { toCamel } from '../../aip/field-path.ts'
import { errorBody, openErrorRenderer } from './error-body.ts'

const domain = 'iam.stemma.test'

describe('an error body', () => {
  test('is flat, with the number of the code and typed details', () => {
    assert.deepEqual(JSON.parse(errorBody(invalidField('name', 'is required'), domain, toCamel)), {
      code: 3,
      message: 'Invalid argument: name: is required',
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'INVALID_ARGUMENT', domain },
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: 'name', description: 'is required' }],
        },
      ],
    })
    assert.deepEqual(JSON.parse(errorBody(failedPrecondition('RESOURCE_NOT_EMPTY', 'full'), domain)), {
      code: 9,
      message: 'Precondition failed: full',
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'FAILED_PRECONDITION', domain },
        {
          '@type': 'type.googleapis.com/google.rpc.PreconditionFailure',
          violations: [{ type: 'RESOURCE_NOT_EMPTY', description: 'full' }],
        },
      ],
    })
  })

  test('spells the names of fields with the given function', () => {
    const error = invalidArgument(
      { field: 'claim_match.issuer_pattern', description: 'is wrong' },
      { field: 'requests[2].role_uid', description: 'is wrong' },
      { field: 'update_mask', description: 'is wrong' },
    )
    const { message, details } = JSON.parse(errorBody(error, domain, toCamel))
    assert.equal(message, 'Invalid argument: claimMatch.issuerPattern: is wrong')
    assert.deepEqual(
      details[1].fieldViolations.map(({ field }: { field: string }) => field),
      ['claimMatch.issuerPattern', 'requests[2].roleUid', 'updateMask'],
    )
  })

  test('names fields in snake_case if no function is given', () => {
    const { message } = JSON.parse(errorBody(invalidField('page_token', 'is wrong'), domain))
    assert.equal(message, 'Invalid argument: page_token: is wrong')
  })

  test('does not change the text of a description', () => {
    const { details } = JSON.parse(errorBody(invalidField('order_by', 'takes create_time'), domain, toCamel))
    assert.deepEqual(details[1].fieldViolations, [{ field: 'orderBy', description: 'takes create_time' }])
  })

  test('contains nothing of the cause', () => {
    assert.doesNotMatch(errorBody(unavailable('try again', new Error('hidden')), domain), /hidden|stack/)
  })
})

describe('the error renderer of a door', () => {
  const render = openErrorRenderer(domain, 'https://stemma.test')

  test('renders a constant error only once', () => {
    const first = render(noSuchPath())
    assert.equal(first.body.text, errorBody(noSuchPath(), domain))
    assert.equal(render(noSuchPath()), first)
    assert.notEqual(openErrorRenderer('other.test', '')(noSuchPath()).body.text, first.body.text)
  })

  test('renders all other errors each time, in the spelling of their request', () => {
    const error = invalidField('page_token', 'is wrong')
    assert.match(render(error, toCamel).body.text, /pageToken: is wrong/)
    assert.match(render(error).body.text, /page_token: is wrong/)
  })
})
