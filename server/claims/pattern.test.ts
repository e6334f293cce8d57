import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { issuerPatternFault } from './issuer-pattern.ts'
import {
  audiencePatternFault,
  isUnrestricted,
  matchesPattern,
  openPatterns,
  patternFault,
} from './pattern.ts'

describe('claim patterns', () => {
  test('are RE2 expressions', () => {
    const ci = 'repo:acme/.*:ref:refs/heads/(main|v[0-9]+)'
    for (const pattern of ['.+', ci, '(?i)abc', '\\pL+', '(?P<name>x)'])
      assert.equal(patternFault(pattern), undefined, pattern)
  })

  test('that are invalid are refused with a reason', () => {
    for (const pattern of ['(', ')', '[a', 'a**', '(?=x)', '(?<!x)y', '(a)\\1'])
      assert.match(patternFault(pattern) ?? '', /^must be an RE2 regular expression: /, pattern)
    assert.match(patternFault('') ?? '', /must not be empty/)
  })

  test('may match the empty string, except those for issuers; those for audiences must not match everything', () => {
    for (const pattern of ['.*', 'a?', '(x|)', '^$', 'https://a\\.test/x|']) {
      assert.equal(patternFault(pattern), undefined, pattern)
      assert.ok(issuerPatternFault(pattern), pattern)
    }
    for (const pattern of ['.*', '.+', '^.*$', '(?s).*']) assert.ok(audiencePatternFault(pattern), pattern)
  })

  test('that restrict nothing are found, however they are written', () => {
    for (const pattern of ['.*', '.+', '^.*$', '(.+)', '[^ ]+', '(?s:.)*', '.{1,200}', 'x|.+'])
      assert.ok(isUnrestricted(pattern), pattern)
    for (const pattern of ['', 'repo:.+', '[a-z]+', 'https://.+', '[^:]+', '.+@.+', '.*\\.invalid'])
      assert.ok(!isUnrestricted(pattern), pattern)
  })

  test('have a limited size, so that compiling and matching stay fast', () => {
    const tooLong = [
      'x{1001}',
      '((a{99}){99}){99}',
      'a{500}b{600}',
      '(a{20}){60}',
      `(?:${'a?'.repeat(245)}a){190}b`,
    ]
    for (const pattern of [...tooLong, '[\\pL\\pN]{1000}'.repeat(30)])
      assert.match(patternFault(pattern) ?? '', /^must have at most/, pattern)
    for (const pattern of ['\\{5000\\}', 'a\\{5000}', '[0-9a-f]{40}', '(a{10}){5}', '.{200}'])
      assert.equal(patternFault(pattern), undefined, pattern)
    assert.equal(matchesPattern(openPatterns(), 'a+', 'a'.repeat(1025)), false)
  })

  test('that would be slow in a backtracking engine are accepted', () => {
    const nested = `${'('.repeat(340)}a${')'.repeat(340)}`
    const optional = `${'(a?)'.repeat(100)}${'a'.repeat(100)}`
    for (const pattern of ['(a+)+$', '(a|aa)+$', optional, nested])
      assert.equal(patternFault(pattern), undefined, pattern)
  })

  test('for issuers must not match every host', () => {
    for (const pattern of ['.+', 'https://.+', 'https?://[^/]+', 'https://[a-z.]+/?', '(', '.*'])
      assert.ok(issuerPatternFault(pattern), pattern)
    const clusters = 'https://oidc\\.eks\\.[a-z0-9-]+\\.amazonaws\\.com/id/.+'
    for (const pattern of ['https://.+\\.example\\.com', clusters])
      assert.equal(issuerPatternFault(pattern), undefined, pattern)
  })
})
