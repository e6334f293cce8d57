import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { MatchTask } from './matcher.ts'
import { openMatcher, performMatch } from './matcher.ts'
import { openPatterns } from './pattern.ts'

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
    assert.equal(countTasks(`(${'a'.repeat(99)})\\Q\\E{10}\\Q\\E{10}`, { sub: 'a' }), 1)
    assert.equal(countTasks('(?i)[B-\u{1e943}]', { sub: 'a' }), 1)
    assert.equal(countTasks('.*[0-7].{200}z', { sub: 'a' }), 0)
    assert.equal(countTasks('.*[0-7].{200}z', { sub: 'a'.repeat(1000) }), 1)
    assert.equal(countTasks('a', { sub: 'a', aud: Array(100).fill('b'.repeat(100)) }, 'x.{20}'), 1)
  })
})

describe('a caller that AWS has confirmed is matched', () => {
  const arn = 'arn:aws:sts::123456789012:assumed-role/deploy/session'

  /** Returns whether the caller matches, and how many tasks were given to threads. */
  async function matchOf(arnPattern: string, caller: { arn: string; account?: string }) {
    const tasks: MatchTask[] = []
    const run = async (task: MatchTask) => {
      tasks.push(task)
      return performMatch(openPatterns(), task)
    }
    const identity = create(IdentitySchema, {
      relationship: {
        case: 'awsIdentity',
        value: {
          awsAccount: '123456789012',
          awsArn: { case: 'arnPattern', value: arnPattern },
          awsUserId: { case: 'userIdPattern', value: 'AROA[A-Z]+:.+' },
        },
      },
    })
    const confirmed = { account: '123456789012', userId: 'AROAXYZ:session', ...caller }
    const isMatch = await openMatcher(run, [aud]).matchesAws(identity, confirmed)
    return [isMatch, tasks.length]
  }

  test('on the event loop if patterns and ARN are short', async () => {
    assert.deepEqual(await matchOf('arn:aws:sts::\\d+:assumed-role/deploy/.+', { arn }), [true, 0])
    assert.deepEqual(await matchOf('arn:aws:sts::\\d+:assumed-role/deploy/.+', { arn: `${arn}\n` }), [
      false,
      0,
    ])
    assert.deepEqual(await matchOf('.+', { arn, account: '210987654321' }), [false, 0])
  })

  test('in a thread if a pattern is long, or if pattern length times text length is large', async () => {
    assert.deepEqual(await matchOf(`${arn}(x{0,400})`, { arn }), [true, 1])
    assert.deepEqual(await matchOf('.*[0-7].{200}z', { arn: 'a'.repeat(1000) }), [false, 1])
  })
})
