import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { patternFault } from './pattern.ts'

describe('a pattern', () => {
  test('is what RE2 takes', () => {
    const good = [
      '.*',
      'repo:acme/.*:ref:refs/heads/(main|v[0-9]+)',
      '(?i)abc',
      '\\pL+',
      '(?P<name>x)',
      'a{0,1000}',
    ]
    for (const pattern of good) assert.equal(patternFault(pattern), undefined, pattern)
  })

  test('is told what is wrong with it', () => {
    assert.equal(patternFault(''), 'must not be empty')
    for (const pattern of [
      '(',
      ')',
      '[a',
      'a**',
      '(?=x)',
      '(?<!x)y',
      '(a)\\1',
      'x{1001}',
      '((a{99}){99}){99}',
    ])
      assert.match(patternFault(pattern) ?? '', /^must be an RE2 regular expression: /, pattern)
  })

  test('that would take long elsewhere is read at once', () => {
    for (const pattern of [
      '(a+)+$',
      '(a|aa)+$',
      `${'(a?)'.repeat(100)}${'a'.repeat(100)}`,
      '('.repeat(340) + ')'.repeat(340),
    ])
      assert.equal(patternFault(pattern), undefined, pattern)
  })
})
