import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { MatchTask } from './matcher.ts'
import { openMatcher } from './matcher.ts'

const iss = 'https://ci.test'
const aud = 'https://stemma.test'

/** How many tasks a thread gets for one token. */
function countTasks(
  subjectPattern: string,
  claims: { sub: string; aud?: string[] },
  audiencePattern?: string,
) {
  const tasks: MatchTask[] = []
  const matcher = openMatcher(async (task) => tasks.push(task), [aud])
  const identity = create(IdentitySchema, {
    relationship: {
      case: 'claimMatch',
      value: {
        iss: { case: 'issuer', value: iss },
        sub: { case: 'subjectPattern', value: subjectPattern },
        ...(audiencePattern !== undefined && { aud: { case: 'audiencePattern', value: audiencePattern } }),
      },
    },
  })
  void matcher.mismatchedClaim(identity, { iss, aud, ...claims })
  return tasks.length
}

describe('a token is matched', () => {
  test('on the event loop if its patterns and claims are short', () => {
    const sub = 'repo:acme/website:environment:production:ref:refs/heads/main'
    assert.equal(countTasks('repo:acme/.+:ref:refs/heads/(main|v[0-9]+)', { sub }), 0)
  })

  test('in a thread if a pattern is long, or if the length of a pattern times that of its text is large', () => {
    assert.equal(countTasks('a{1,400}', { sub: 'a' }), 1)
    assert.equal(countTasks('.*[0-7].{200}z', { sub: 'a' }), 0)
    assert.equal(countTasks('.*[0-7].{200}z', { sub: 'a'.repeat(1000) }), 1)
    assert.equal(countTasks('a', { sub: 'a', aud: Array(100).fill('b'.repeat(100)) }, 'x.{20}'), 1)
  })
})
