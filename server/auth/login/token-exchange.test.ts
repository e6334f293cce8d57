import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Code } from '../../aip/code.ts'
import { internal, invalidField, StatusError, tooLarge, tooManyRequests } from '../../aip/errors.ts'
import { oauthError } from './token-exchange.ts'

describe('errors of the token endpoint', () => {
  const cases: [string, StatusError, number, string][] = [
    ['a wrong audience', invalidField('aud', 'must be another'), 400, 'invalid_target'],
    ['a refusal', new StatusError(Code.PERMISSION_DENIED, 'no'), 400, 'invalid_request'],
    ['a form that is too large', tooLarge('a form must be smaller', 413), 413, 'invalid_request'],
    ['too many requests', tooManyRequests('later', 5), 429, 'temporarily_unavailable'],
    ['an outage', new StatusError(Code.UNAVAILABLE, 'later'), 503, 'temporarily_unavailable'],
    ['a fault of the server', internal(new Error('a secret')), 500, 'server_error'],
  ]
  for (const [problem, error, status, code] of cases)
    test(`${problem} is reported as ${code} with status ${status}`, () => {
      const answer = oauthError(error) as {
        status: number
        json: { error: string; error_description: string }
      }
      assert.deepEqual([answer.status, answer.json.error], [status, code])
      assert.doesNotMatch(answer.json.error_description, /secret/)
    })
})
