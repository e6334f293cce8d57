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

const keys = { issuer: fitting.iss, subject: fitting.sub, expirationTime: '2026-01-02T00:00:00Z' }

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

test('an issuer or subject that is empty or not a string does not match, as on the server', () => {
  const claimMatch = { ...identity.claimMatch, subjectPattern: '.*' }
  const subjectMatches = (sub: unknown) =>
    compareClaims({ claimMatch }, { ...fitting, sub }, [audience], now)[1]?.matches
  assert.equal(subjectMatches('any'), true)
  for (const sub of ['', 42, true, 'a\0b']) assert.equal(subjectMatches(sub), false, JSON.stringify(sub))
  const staticKeys = { ...keys, issuer: '42' }
  const issuerMatches = (iss: unknown) =>
    compareClaims({ staticKeys }, { ...fitting, iss }, [audience], now)[0]?.matches
  assert.equal(issuerMatches('42'), true)
  assert.equal(issuerMatches(42), false)
})

test('a rule can require that a claim is empty', () => {
  const claimMatch = { ...identity.claimMatch, claims: { environment: '' } }
  const resultOf = (environment: unknown) =>
    compareClaims({ claimMatch }, { ...fitting, environment }, [audience], now)[3]
  const row = { claim: 'environment', expected: '(empty)' }
  assert.deepEqual(resultOf(''), { ...row, actual: '(empty)', matches: true })
  assert.deepEqual(resultOf('production'), { ...row, actual: 'production', matches: false })
  assert.deepEqual(resultOf(undefined), { ...row, actual: '', matches: false })
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
  const staticKeys = { ...keys, audiences: [audience] }
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

test('the times of a token may be a minute off, and nbf is optional', () => {
  const at = (seconds: number) => now / 1000 + seconds
  assert.deepEqual(mismatches({ ...fitting, exp: at(-59), nbf: at(60), iat: at(-86_460) }), [])
  assert.deepEqual(mismatches({ ...fitting, exp: at(-60) }), ['exp'])
  assert.deepEqual(mismatches({ ...fitting, nbf: at(61) }), ['nbf'])
  assert.deepEqual(mismatches({ ...fitting, nbf: 'soon' }), ['nbf'])
  assert.deepEqual(mismatches({ ...fitting, iat: at(-86_461) }), ['iat'])
})

test('static keys that have expired match no token', () => {
  const resultsAt = (time: number) =>
    compareClaims({ staticKeys: keys }, { ...fitting, exp: 9_999_999_999 }, [audience], time)
  assert.ok(resultsAt(now).every(({ matches }) => matches))
  const expired = resultsAt(Date.parse(keys.expirationTime)).filter(({ matches }) => !matches)
  assert.deepEqual(
    expired.map(({ claim }) => claim),
    ['expiry of the keys'],
  )
})

test('a pattern that the browser cannot run neither matches nor mismatches', () => {
  const claimMatch = { ...identity.claimMatch, subjectPattern: '[[:alpha:]:/]+', audiencePattern: '(?i:x)' }
  const results = compareClaims({ claimMatch }, fitting, [audience], now)
  assert.deepEqual(
    results.filter(({ matches }) => !matches).map(({ claim, matches }) => [claim, matches]),
    [
      ['sub', undefined],
      ['aud', undefined],
    ],
  )
})

test('an issuer matches a pattern of URLs part by part', () => {
  const claimMatch = { issuerPattern: 'https://.+\\.example\\.com', subject: fitting.sub }
  const issuerMatches = (iss: string) =>
    compareClaims({ claimMatch }, { ...fitting, iss }, [audience], now)[0]?.matches
  assert.equal(issuerMatches('https://issuer.example.com'), true)
  assert.equal(issuerMatches('https://attacker.test/x.example.com'), false)
})

test('a token matches static keys by any of their audiences, and may be a year old', () => {
  const staticKeys = { ...keys, audiences: ['first', 'second'] }
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
