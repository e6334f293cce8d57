import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { RE2JS, RE2JSSyntaxException } from 're2js'
import { issuerPatternFault } from './issuer-pattern.ts'
import {
  audiencePatternFault,
  expandedLength,
  isUnrestricted,
  matchesPattern,
  openPatterns,
  patternFault,
} from './pattern.ts'

/** Undefined if the pattern is not valid. */
function programOf(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error
    return undefined
  }
}

const atoms = String.raw`a . ^ \b \d \W \pL \p{^Lu} \x{41} \101 \{ \\ \) - { } ] [a-z] [^]] [)] [\]] [[:alpha:]] [\x{42}-\x{ff}]`
const quotations = String.raw`\Q\E \Qab\E \Q\\E \Q)\E \Q{3}\E (?i) (?s-i) (?:) ()`
const repeats = '* +? ? {0} {1} {3} {10} {50} {2,} {0,20} {02} {,3}'
const oneOf = (texts: string) => fc.constantFrom(...texts.split(' '))
const joined = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map((texts) => texts.join(''))

/** Patterns of all constructs of RE2, also with repeats after constructs that match nothing. Many are not valid. */
const { pattern: anyPattern } = fc.letrec<{ pattern: string; item: string }>((tie) => ({
  pattern: fc.array(tie('item'), { minLength: 1, maxLength: 6 }).map((items) => items.join('')),
  item: fc.oneof(
    { maxDepth: 3 },
    oneOf(atoms),
    oneOf(quotations),
    fc.constant('|'),
    joined(oneOf(atoms), oneOf(repeats)),
    joined(oneOf(quotations), oneOf(repeats)),
    joined(oneOf('( (?: (?i:'), tie('pattern'), fc.constant(')')),
    joined(oneOf('( (?: (?i:'), tie('pattern'), fc.constant(')'), oneOf(repeats)),
  ),
}))

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
      // A repeat after an empty quotation applies to the group before it.
      `(${'a'.repeat(239)})\\Q\\E{10}\\Q\\E{10}\\Q\\E{10}`,
      'a(?i){10}\\Q\\E{10}(?s){10}',
      // Each of these ranges has 125,000 characters, which are compiled one by one.
      `(?i)[${'B-\u{1e943}'.repeat(60)}]`,
      '(?s-m)x(?mi:[B-\\x{1e943}])',
    ]
    for (const pattern of [...tooLong, '[\\pL\\pN]{1000}'.repeat(30)])
      assert.match(patternFault(pattern) ?? '', /^must have at most/, pattern)
    const short = ['\\{5000\\}', 'a\\{5000}', '[0-9a-f]{40}', '(a{10}){5}', '.{200}']
    for (const pattern of [...short, '\\Qa.b\\E{20}', '(?i)[α-ω]+', '[B-\\x{1e943}]'])
      assert.equal(patternFault(pattern), undefined, pattern)
    assert.equal(matchesPattern(openPatterns(), 'a+', 'a'.repeat(1025)), false)
  })

  test('never compile to a longer program than their size allows', () => {
    fc.assert(
      fc.property(anyPattern, (pattern) => {
        const size = expandedLength(pattern)
        const program = size <= 2000 && programOf(pattern)
        return !program || program.programSize() <= 2 * size + 2
      }),
      { numRuns: 3000 },
    )
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
