import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimsOf, compareClaims, ownAudiencesOf } from './token-match.ts'

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const tokenOf = (claims: object) => `${encode({ alg: 'RS256' })}.${encode(claims)}.c2lnbmF0dXJl`
const now = Date.UTC(2026, 0, 1)
const audience = 'https://stemma.example.com'
const identity = {
  claimMatch: {
    ...{ issuer: 'https://issuer.example.com', subjectPattern: 'repo:acme/[^:]+:ref:refs/heads/main' },
    claims: { environment: 'production' },
  },
}
const fitting = {
  ...{ iss: 'https://issuer.example.com', sub: 'repo:acme/app:ref:refs/heads/main', aud: [audience] },
  ...{ environment: 'production', exp: now / 1000 + 60, iat: now / 1000 - 60 },
}

const mismatches = (claims: object) =>
  compareClaims(identity, claimsOf(tokenOf(claims)) ?? {}, [audience], now)
    .filter(({ matches }) => !matches)
    .map(({ claim }) => claim)

test('a token that fits has no mismatch', () => assert.deepEqual(mismatches(fitting), []))

test('each claim that does not fit is named', () => {
  assert.deepEqual(mismatches({ ...fitting, sub: 'repo:evil/app:ref:refs/heads/main' }), ['sub'])
  assert.deepEqual(mismatches({ ...fitting, sub: 'x repo:acme/app:ref:refs/heads/main' }), ['sub'])
  assert.deepEqual(mismatches({ ...fitting, aud: 'sts.amazonaws.com', exp: 1 }), ['aud', 'exp'])
  assert.deepEqual(mismatches({ ...fitting, iss: 'https://other.example.com', environment: undefined }), [
    ...['iss', 'environment'],
  ])
})

test('a missing claim and a list match no pattern', () => {
  const claimMatch = { issuerPattern: '.*', subjectPattern: '.*', claimPatterns: { roles: '.*' } }
  const claims = { aud: audience, sub: 'ci', roles: ['admin'] }
  const results = compareClaims({ claimMatch }, claims, [audience], now)
  const matching = results.filter(({ matches }) => matches).map(({ claim }) => claim)
  assert.deepEqual(matching, ['sub', 'aud'])
})

test('a token must have an audience and both times, and must not be too old', () => {
  const anyAudience = { claimMatch: { ...identity.claimMatch, audiencePattern: '.*' } }
  const { aud: _, ...withoutAudience } = fitting
  const [, , audienceResult] = compareClaims(anyAudience, withoutAudience, [audience], now)
  assert.equal(audienceResult?.matches, false)
  assert.deepEqual(mismatches({ ...fitting, aud: [audience, ''] }), ['aud'])
  assert.deepEqual(mismatches({ ...fitting, exp: undefined, iat: undefined }), ['exp', 'iat'])
  assert.deepEqual(mismatches({ ...fitting, iat: now / 1000 - 25 * 3600 }), ['iat'])
  assert.deepEqual(mismatches({ ...fitting, exp: 9_999_999_999_999 }), [])
})

test('a token may be issued up to a minute in the future, because clocks differ', () => {
  const staticKeys = { issuer: fitting.iss, subject: fitting.sub, audiences: [audience] }
  const keyMismatches = (claims: object) =>
    compareClaims({ staticKeys }, { ...fitting, ...claims }, [audience], now).filter(
      ({ matches }) => !matches,
    )
  const soon = { iat: now / 1000 + 60 }
  const later = { iat: now / 1000 + 61 }
  assert.deepEqual(mismatches({ ...fitting, ...soon }), [])
  assert.deepEqual(mismatches({ ...fitting, ...later }), ['iat'])
  assert.deepEqual(keyMismatches(soon), [])
  assert.deepEqual(
    keyMismatches(later).map(({ claim }) => claim),
    ['iat'],
  )
})

test('a token matches static keys by any of their audiences, and may be a year old', () => {
  const staticKeys = { issuer: fitting.iss, subject: fitting.sub, audiences: ['first', 'second'] }
  const claims = { ...fitting, aud: 'second', iat: now / 1000 - 300 * 86_400 }
  assert.ok(compareClaims({ staticKeys }, claims, [audience], now).every(({ matches }) => matches))
  const [, , audienceResult] = compareClaims({ staticKeys }, fitting, [audience], now)
  assert.equal(audienceResult?.matches, false)
})

test('a token may name the server by its issuer URL, its base URL, or the host of the issuer', () => {
  const accepted = ownAudiencesOf('https://auth.example.com', 'https://api.example.com/stemma')
  const isAccepted = (aud: string) =>
    compareClaims(identity, { ...fitting, aud }, accepted, now).every(({ matches }) => matches)
  for (const aud of ['https://auth.example.com', 'https://api.example.com/stemma', 'auth.example.com'])
    assert.ok(isAccepted(aud), aud)
  assert.ok(!isAccepted('api.example.com'))
})

test('text that is no token has no claims', () => {
  for (const text of ['', 'a.b', 'a.%%%.c', `a.${encode('text')}.c`]) assert.equal(claimsOf(text), undefined)
})
