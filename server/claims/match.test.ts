import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { acceptsIssuer, mismatchedClaim } from './match.ts'
import { openPatterns } from './pattern.ts'

const patterns = openPatterns()
const ownAudiences = ['https://stemma.test']
const claims = { iss: 'https://ci.test/a', sub: 'repo:acme/app', aud: 'https://stemma.test', branch: 'main' }

const claimMatch = (custom: { claims?: Record<string, string>; claimPatterns?: Record<string, string> }) =>
  create(IdentitySchema, {
    relationship: {
      case: 'claimMatch',
      value: {
        iss: { case: 'issuerPattern', value: 'https://ci\\.test/.+' },
        sub: { case: 'subject', value: 'repo:acme/app' },
        ...custom,
      },
    },
  })

describe('claim matching', () => {
  test('accepts issuers that match the whole pattern', () => {
    const identity = claimMatch({})
    assert.equal(acceptsIssuer(patterns, identity, 'https://ci.test/a'), true)
    for (const issuer of ['https://ci.test/', 'https://ci-test/a', 'x https://ci.test/a', ''])
      assert.equal(acceptsIssuer(patterns, identity, issuer), false, issuer)
  })

  test('reports the first claim that does not match', () => {
    const mismatch = (change: object, custom = {}) =>
      mismatchedClaim(patterns, claimMatch(custom), { ...claims, ...change }, ownAudiences)
    assert.equal(mismatch({}), undefined)
    assert.equal(mismatch({ iss: 'https://other.test' }), 'iss')
    assert.equal(mismatch({ sub: 'repo:acme/app2' }), 'sub')
    assert.equal(mismatch({ aud: ['https://other.test'] }), 'aud')
    assert.equal(mismatch({}, { claims: { branch: 'main' } }), undefined)
    assert.equal(mismatch({}, { claims: { branch: 'dev' } }), 'branch')
    assert.equal(mismatch({}, { claimPatterns: { branch: 'ma' } }), 'branch')
    assert.equal(mismatch({}, { claimPatterns: { branch: 'ma.*' } }), undefined)
  })

  test('requires both the value and the pattern of a claim that has both', () => {
    const mismatch = (branch: unknown, value: string, pattern: string) =>
      mismatchedClaim(
        patterns,
        claimMatch({ claims: { branch: value }, claimPatterns: { branch: pattern } }),
        { ...claims, branch },
        ownAudiences,
      )
    assert.equal(mismatch('main', 'main', 'ma.*'), undefined)
    assert.equal(mismatch('main', 'main', 'dev.*'), 'branch')
    assert.equal(mismatch('main', 'dev', 'ma.*'), 'branch')
  })

  test('with a pattern that matches the empty string still requires the claim', () => {
    const anything = claimMatch({ claimPatterns: { extra: '.*' } })
    const mismatch = (change: object) =>
      mismatchedClaim(patterns, anything, { ...claims, ...change }, ownAudiences)
    assert.equal(mismatch({}), 'extra')
    assert.equal(mismatch({ extra: ['x'] }), 'extra')
    assert.equal(mismatch({ extra: '' }), undefined)
  })

  test('compares numbers and booleans in their JSON form; arrays, objects and inherited properties never match', () => {
    const mismatch = (value: unknown, expected: string) =>
      mismatchedClaim(patterns, claimMatch({ claims: { extra: expected } }), { ...claims, extra: value }, [
        claims.aud,
      ])
    assert.equal(mismatch(1, '1'), undefined)
    assert.equal(mismatch(true, 'true'), undefined)
    assert.equal(mismatch(['1'], '1'), 'extra')
    const inherited = claimMatch({ claimPatterns: { constructor: '.+' } })
    assert.equal(mismatchedClaim(patterns, inherited, claims, ownAudiences), 'constructor')
  })

  test('of static keys compares issuer, subject and audience exactly', () => {
    const value = { issuer: claims.iss, subject: claims.sub, expirationTime: timestampFromMs(1) }
    const identity = create(IdentitySchema, { relationship: { case: 'staticKeys', value } })
    assert.equal(acceptsIssuer(patterns, identity, claims.iss), true)
    assert.equal(acceptsIssuer(patterns, identity, `${claims.iss}/`), false)
    assert.equal(mismatchedClaim(patterns, identity, claims, ownAudiences), undefined)
    assert.equal(mismatchedClaim(patterns, identity, { ...claims, aud: 'x' }, ownAudiences), 'aud')
  })

  test('refuses identities without issuer rules', () => {
    const identity = create(IdentitySchema, {})
    assert.equal(acceptsIssuer(patterns, identity, claims.iss), false)
    assert.equal(mismatchedClaim(patterns, identity, claims, ownAudiences), 'iss')
  })
})
