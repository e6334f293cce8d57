// Claim patterns: RE2 expressions, which match in linear time, anchored at both ends of the claim.
import type { RunExpression } from '@stemma/api/claims/match-pattern.ts'
import { matchPattern } from '@stemma/api/claims/match-pattern.ts'
import { splitUrlPattern } from '@stemma/api/claims/url-pattern.ts'
import { RE2JS, RE2JSSyntaxException } from 're2js'
import { BoundedMap } from '../bounded-map.ts'

/** Compiling and matching time grow with the expanded length. */
const maxExpandedLength = 700
/** A class of characters takes as long to compile as this many characters: classes of Unicode have many ranges. */
const classLength = 40
/** If case is ignored, compiling a range of this many characters takes as long as compiling one character. */
const foldedPerLength = 64
/** The last character with an upper and a lower case. */
const lastCasedCharacter = 0x1e943
const maxCompiledPatterns = 1000

/** Describes what is wrong with a pattern. */
export function patternFault(pattern: string): string | undefined {
  if (expandedLength(pattern) > maxExpandedLength)
    return `must have at most ${maxExpandedLength} characters, where a repeat such as a{3} counts as written out (aaa), the number of a repeated group such as (ab){3} multiplies the whole length, each class such as [a-z] or \\pL adds ${classLength}, and a range that ends beyond ASCII adds more if case is ignored, as in (?i)[α-ω]`
  if (pattern === '') return 'must not be empty; .* matches every value'
  const fault = syntaxFault(pattern)
  if (fault !== undefined) return `must be an RE2 regular expression: ${fault}`
  return splitUrlPattern(pattern)?.includes('unclear')
    ? 'must consist of the scheme, host and path of a URL; each alternative (a|b) must be a complete URL pattern'
    : undefined
}

/** Audiences that no service can have: RFC 6761 reserves the domain `invalid`. */
const impossibleAudiences = ['https://nobody.invalid', 'https://nobody.invalid/', 'nobody.invalid']

/**
 * Describes what is wrong with a pattern of audiences, which must not match every audience. Otherwise the identity
 * would accept tokens that a workload sends to other services, so these services could assume the identity.
 */
export function audiencePatternFault(pattern: string): string | undefined {
  const fault = patternFault(pattern)
  if (fault) return fault
  const patterns = openPatterns()
  return impossibleAudiences.some((audience) => matchesPattern(patterns, pattern, audience))
    ? 'must not match every audience, but only names of this server'
    : undefined
}

/** Texts that have nothing in common except that each could be the value of a claim. */
const unrelatedTexts = [
  '0f3c7a91d2b84e65',
  'nobody@nobody.invalid',
  'repo:nobody/nothing:ref:refs/heads/none',
  'https://nobody.invalid/none',
]

/** Whether a valid pattern restricts nothing, that is, matches all of `unrelatedTexts`. */
export function isUnrestricted(pattern: string): boolean {
  const patterns = openPatterns()
  return unrelatedTexts.every((text) => matchesPattern(patterns, pattern, text))
}

/**
 * A repeat, with the end of the group or quotation before it; a class; the end of a range beyond ASCII; or another
 * escape. A repeat after the empty quotation `\Q\E` applies to the expression before it, which may be a group.
 */
const costlyToken =
  /(\)|\\E)?\{(\d{1,9})(?:,(\d{0,9}))?\}|\\[pP]|\[|-(?:\\x\{([\dA-Fa-f]+)\}|(\P{ASCII}))|\\./gsu
const caseFlag = /\(\?[a-zA-Z-]*i/

/**
 * An upper bound of the length of a pattern with its repeats written out, plus `classLength` for each class and the
 * cost of ranges whose case is ignored. A scan suffices: a token in a quotation or class can only increase the result.
 */
export function expandedLength(pattern: string): number {
  const ignoresCase = caseFlag.test(pattern)
  let length = pattern.length
  let [factor, classesLength] = [1, 0]
  for (const [token, groupEnd, least, most, hexEnd, end] of pattern.matchAll(costlyToken)) {
    if (token === '[' || token === '\\p' || token === '\\P') classesLength += classLength
    const rangeEnd = hexEnd === undefined ? end?.codePointAt(0) : Number.parseInt(hexEnd, 16)
    if (ignoresCase && rangeEnd !== undefined) classesLength += foldedLength(rangeEnd)
    if (least === undefined) continue
    const times = Math.max(Number(least), Number(most ?? 0))
    // A repeated group may contain any part of the pattern, so its count multiplies the whole length.
    if (groupEnd) factor *= Math.max(1, times)
    else length += times
  }
  // A class is parsed once, however often it is repeated.
  return length * factor + classesLength
}

/** The cost of a range that ends with this character: if case is ignored, RE2 adds its characters one by one. */
const foldedLength = (rangeEnd: number) => Math.ceil(Math.min(rangeEnd, lastCasedCharacter) / foldedPerLength)

/** Describes the syntax error of a pattern. */
function syntaxFault(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern)
    return undefined
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error
    return error.getDescription()
  }
}

/** A cache of compiled patterns: many tokens are matched with the same pattern. */
export type Patterns = BoundedMap<string, RE2JS>

export const openPatterns = (): Patterns => new BoundedMap(maxCompiledPatterns)

/** Whether the whole text matches a pattern, which must be valid (`patternFault`). URLs are matched part by part. */
export const matchesPattern = (patterns: Patterns, pattern: string, text: string): boolean =>
  matchPattern(runWith(patterns), pattern, text)

export const runWith =
  (patterns: Patterns): RunExpression =>
  (expression, text) =>
    patterns.getOrMake(expression, () => RE2JS.compile(expression)).matches(text)

/** A oneof of an exact value and a pattern; the name of the field ends in `Pattern` if it is a pattern. */
export type ValueOrPattern = { case: string | undefined; value?: string | undefined }

export const matches = (
  patterns: Patterns,
  { case: field, value = '' }: ValueOrPattern,
  text: string,
): boolean => (field?.endsWith('Pattern') ? matchesPattern(patterns, value, text) : value === text)
