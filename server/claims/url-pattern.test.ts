import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasUnsplitUrl, splitUrlPattern } from '@stemma/api/claims/url-pattern.ts'
import { issuerPatternFault, matchesIssuer } from './issuer-pattern.ts'
import { audiencePatternFault, matchesPattern, openPatterns, patternFault } from './pattern.ts'

const patterns = openPatterns()
const accepts = (pattern: string, issuer: string) =>
  matchesIssuer(patterns, { case: 'issuerPattern', value: pattern }, issuer)

describe('a pattern of URLs', () => {
  test('is split into scheme, host, port and path', () => {
    const parts = (host: string, port = '', path = '', scheme = 'https') => ({
      parts: { scheme, host, port, path },
    })
    const cases: [string, ...unknown[]][] = [
      ['https://a\\.test', parts('a\\.test')],
      ['^https:\\/\\/a\\.test\\/x$', parts('a\\.test', '', '\\/x')],
      ['https?://[^/]+\\.a\\.test(:\\d+)?(/.*)?', parts('[^/]+\\.a\\.test', '(:\\d+)?', '(/.*)?', 'https?')],
      ['https://a\\.test:8443/?', parts('a\\.test', ':8443', '/?')],
      ['(?:https://a\\.test|https://b\\.test/[|)(]+)', parts('a\\.test'), parts('b\\.test', '', '/[|)(]+')],
      ['sts|https://a\\.test', { text: 'sts' }, parts('a\\.test')],
      ['https://(a\\.test/x|b\\.test)', 'unclear'],
      ['https://user@a\\.test', 'unclear'],
      ['https:///a', 'unclear'],
      ['https://a\\Q.test/\\E', 'unclear'],
      ['https://a$\\.test', 'unclear'],
    ]
    for (const [pattern, ...expected] of cases) assert.deepEqual(splitUrlPattern(pattern), expected, pattern)
    for (const pattern of ['repo:acme/.+', 'a|b', 'arn:aws:iam::1:role/x', '[a-z]+', '(?i)https://a'])
      assert.equal(splitUrlPattern(pattern), undefined, pattern)
  })

  test('is reported as not split if it does not start with a scheme', () => {
    const unsplit = [
      '(https|http)://.+\\.example\\.com/x',
      '(https://.+\\.example\\.com|sts)/x',
      '(?:(https:)//.+\\.example\\.com|sts)',
      'https:/{2}.+\\.example\\.com',
      '(?i)https://.+\\.example\\.com',
      '[a-z]+:\\/\\/.+\\.example\\.com',
      'https://a\\.test|(https|http)://.+\\.example\\.com',
    ]
    for (const pattern of unsplit) {
      assert.equal(patternFault(pattern), undefined, pattern)
      assert.equal(hasUnsplitUrl(pattern), true, pattern)
    }
    const others = [
      '.+',
      'repo:acme/.+',
      'a:/b/',
      '^(https?://a\\.test|sts://b)$',
      'https://a\\.test/(x|http://y)',
    ]
    for (const pattern of others) assert.equal(hasUnsplitUrl(pattern), false, pattern)
  })

  test('of issuers matches only URLs in normal form, part by part', () => {
    const pattern = 'https://.+\\.example\\.com(/.*)?'
    for (const issuer of ['https://a.example.com', 'https://a.b.example.com/', 'https://a.example.com/x/y'])
      assert.equal(accepts(pattern, issuer), true, issuer)
    const hostile = [
      'https://attacker.test/pwn.example.com',
      'https://attacker.test?x.example.com',
      'https://attacker.test#x.example.com',
      'https://attacker.test:443@a.example.com',
      'https://attacker.test:1.example.com',
      'https://attacker.test\\.example.com',
      'https://attacker.test%2f.example.com',
      'https://attacker.test\t/.example.com',
      'https://user@a.example.com',
      'https://a.example.com:8443',
      'https://a.example.com/x/../y',
      'https://a.example.com/%2e%2e/y',
      'https://A.example.com',
      'https://ａ.example.com',
      'https://a.example.com/?q',
      'http://a.example.com',
      'https://a.example.com.attacker.test',
      '',
    ]
    for (const issuer of hostile) assert.equal(accepts(pattern, issuer), false, issuer)
  })

  test('of issuers is refused unless it names its domain in full', () => {
    const safe = [
      'https://a\\.example\\.com',
      'https://localhost:\\d+',
      'https://.+\\.corp\\.internal/.+',
      'https://.+\\.test',
      'https://(a|b)\\.example\\.com',
      'https://(a\\.example\\.com|[a-z]+\\.example\\.org)/x',
      '^(https://a\\.example\\.com|https://b\\.example\\.com)$',
    ]
    for (const pattern of safe) assert.equal(issuerPatternFault(pattern), undefined, pattern)
    const unsafe = [
      'https://[a-z]+',
      'https://.+\\.com',
      'https://.+example\\.com',
      'https://.+\\.example\\.com?',
      'https://(a\\.example\\.com|.+)',
      'https://.+\\.\\.com\\.x',
      'https://a.example\\.com',
      'https://(.|x)+\\.example\\.com',
      'ci|https://a\\.example\\.com',
      '(?i)https://a\\.example\\.com',
      `https://${'(a|b)'.repeat(100)}`,
    ]
    for (const pattern of unsafe) assert.match(issuerPatternFault(pattern) ?? '', /^must /, pattern)
  })

  test('of other claims matches URLs part by part, and any other text as a whole', () => {
    const pattern = 'sts-.+|spiffe://.+\\.example\\.org/ns/.+'
    assert.equal(patternFault(pattern), undefined)
    for (const text of ['sts-a/b', 'spiffe://x.example.org/ns/a/b'])
      assert.equal(matchesPattern(patterns, pattern, text), true, text)
    for (const text of ['spiffe://evil.test/x.example.org/ns/a', 'x sts-a', 'spiffe://u@x.example.org/ns/a'])
      assert.equal(matchesPattern(patterns, pattern, text), false, text)
    assert.match(patternFault('https://(a/b|c)') ?? '', /scheme, host and path/)
  })

  test('of audiences is refused if it matches every audience', () => {
    for (const pattern of ['.+', '[^ ]+', 'https://.+', 'https?://[^/]+/?'])
      assert.match(audiencePatternFault(pattern) ?? '', /every audience/, pattern)
    for (const pattern of ['sts-.+', 'a|b', 'https://.+\\.example\\.com'])
      assert.equal(audiencePatternFault(pattern), undefined, pattern)
  })
})
