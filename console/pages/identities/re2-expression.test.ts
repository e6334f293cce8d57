import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchIssuerPattern, matchPattern } from '@stemma/api/claims/match-pattern.ts'
import { matchInBrowser } from './re2-expression.ts'

const matches = (pattern: string, text: string) => matchInBrowser(matchPattern, pattern, text)

test('expressions that JavaScript spells in another way match as on the server', () => {
  const cases: [pattern: string, matching: string, other: string][] = [
    ['acme\\-inc', 'acme-inc', 'acme inc'],
    ['repo\\:acme\\/.+', 'repo:acme/app', 'repo:evil/app'],
    ['(?i)main', 'MAIN', 'mains'],
    ['(?P<owner>[a-z]+)/(?<repo>[a-z]+)', 'acme/app', 'acme/'],
    ['\\Aa\\z', 'a', 'ab'],
    ['[]a]+', ']a', 'b'],
    ['[\\w\\-\\.@]+', 'a-b.c@d', 'a b'],
    ['\\pL\\p{Nd}\\x41\\x{1F600}', 'é1A😀', 'é1A'],
    ['a{2}{', 'aa{', 'aa'],
    ['a\\sb', 'a b', 'a\u00a0b'],
    ['.', '😀', '\n'],
    ['(?s).', '\n', 'ab'],
    ['[^/]+', 'a\u2028b', 'a/b'],
  ]
  for (const [pattern, matching, other] of cases) {
    assert.equal(matches(pattern, matching), true, pattern)
    assert.equal(matches(pattern, other), false, pattern)
  }
})

test('the result is unknown for expressions that JavaScript cannot run', () => {
  for (const pattern of [
    'a(?i)b',
    '(?i:a)',
    '(?U)a+',
    '\\Qa.b\\E',
    '[[:alpha:]]+',
    '\\p{Greek}',
    '\\101',
    '^*a',
  ])
    assert.equal(matches(pattern, 'a'), undefined, pattern)
})

test('URLs are matched part by part, and issuers only in normal form', () => {
  const pattern = 'https://.+\\.example\\.com(/.*)?'
  assert.equal(matches(pattern, 'https://a.example.com/x'), true)
  assert.equal(matches(pattern, 'https://attacker.test/x.example.com'), false)
  assert.equal(matches(pattern, 'https://a.example.com/x/../y'), true)
  assert.equal(matchInBrowser(matchIssuerPattern, pattern, 'https://a.example.com/x/../y'), false)
})
