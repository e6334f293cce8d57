import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { issuerPatternFault, matchesPattern, patternFault } from './pattern.ts'

describe('a pattern', () => {
  test('is what RE2 takes', () => {
    const ci = 'repo:acme/.*:ref:refs/heads/(main|v[0-9]+)'
    for (const pattern of ['.+', ci, '(?i)abc', '\\pL+', '(?P<name>x)'])
      assert.equal(patternFault(pattern), undefined, pattern)
  })

  test('is told what is wrong with it', () => {
    for (const pattern of ['(', ')', '[a', 'a**', '(?=x)', '(?<!x)y', '(a)\\1'])
      assert.match(patternFault(pattern) ?? '', /^must be an RE2 regular expression: /, pattern)
    for (const pattern of ['', '.*', 'a?', '(x|)', '^$'])
      assert.match(patternFault(pattern) ?? '', /empty string/, pattern)
  })

  test('is not so large that it takes long to compile or to match', () => {
    const many = [
      'x{1001}',
      '((a{99}){99}){99}',
      'a{500}b{600}',
      '(a{20}){60}',
      `(?:${'a?'.repeat(245)}a){190}b`,
    ]
    for (const pattern of [...many, '[\\pL\\pN]{1000}'.repeat(30)])
      assert.match(patternFault(pattern) ?? '', /^must not stand for more than/, pattern)
    for (const pattern of ['\\{5000\\}', 'a\\{5000}', '[0-9a-f]{40}', '(a{10}){5}', '.{200}'])
      assert.equal(patternFault(pattern), undefined, pattern)
    assert.equal(matchesPattern('a+', 'a'.repeat(1025)), false)
  })

  test('that would take long elsewhere is read at once', () => {
    const nested = `${'('.repeat(340)}a${')'.repeat(340)}`
    const optional = `${'(a?)'.repeat(100)}${'a'.repeat(100)}`
    for (const pattern of ['(a+)+$', '(a|aa)+$', optional, nested])
      assert.equal(patternFault(pattern), undefined, pattern)
  })

  test('of issuers says whose they are', () => {
    for (const pattern of ['.+', 'https://.+', 'https?://[^/]+', 'https://[a-z.]+/?', '(', '.*'])
      assert.ok(issuerPatternFault(pattern), pattern)
    const clusters = 'https://oidc\\.eks\\.[a-z0-9-]+\\.amazonaws\\.com/id/.+'
    for (const pattern of ['https://.+\\.example\\.com', clusters])
      assert.equal(issuerPatternFault(pattern), undefined, pattern)
  })
})
