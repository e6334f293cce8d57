// Patterns of claims: RE2 expressions, which take linear time whatever they are given, and which a claim has
// to match from its first character to its last.
import { RE2JS, RE2JSSyntaxException } from 're2js'

/** What is wrong with a pattern. */
export function patternFault(pattern: string): string | undefined {
  if (sizeOf(pattern) > largestPattern)
    return `must not stand for more than ${largestPattern} characters with its repeats written out`
  const compiled = compile(pattern)
  if (typeof compiled === 'string') return `must be an RE2 regular expression: ${compiled}`
  // A claim that is empty says nothing, and should match nothing.
  return compiled.matches('') ? 'must not match the empty string; .+ is anything but that' : undefined
}

/** Nobody's, by RFC 6761. */
const nobodys = ['https://nobody.invalid', 'https://nobody.invalid/']

/** Keys are fetched from whatever issuer matches; this catches the careless, who mean any. */
export function issuerPatternFault(pattern: string): string | undefined {
  const fault = patternFault(pattern)
  if (fault) return fault
  const compiled = RE2JS.compile(pattern)
  const isForAll = nobodys.some((issuer) => compiled.matches(issuer))
  return isForAll ? 'must say whose issuers it means, such as https://.+\\.example\\.com' : undefined
}

/** A repeated part is compiled as often as it is repeated, and while that takes nobody else is served. */
const largestPattern = 1000
const repeat = /\\.|(\)?)\{(\d{1,9})(?:,(\d{0,9}))?\}/gs

/** At most how large a pattern is once its repeats are written out. */
export function sizeOf(pattern: string): number {
  let plain = pattern.length
  let grouped = 1
  for (const [, isGroup, least, most] of pattern.matchAll(repeat)) {
    if (least === undefined) continue
    const times = Math.max(Number(least), Number(most ?? 0))
    // What is inside a group is repeated with it, whatever that is.
    if (isGroup) grouped *= Math.max(1, times)
    else plain += times
  }
  return plain * grouped
}

function compile(pattern: string): RE2JS | string {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error
    return error.getDescription()
  }
}

const kept = new Map<string, RE2JS>()
const mostKept = 1000

/** The time to match grows with pattern and text, so both are bounded. */
const longestText = 1024

/** Whether a text matches a pattern whole. Patterns are kept compiled, since tokens come often. */
export function matchesPattern(pattern: string, text: string): boolean {
  if (text.length > longestText) return false
  let compiled = kept.get(pattern)
  if (!compiled) {
    compiled = RE2JS.compile(pattern)
    if (kept.size >= mostKept) kept.delete(kept.keys().next().value as string) // not empty
    kept.set(pattern, compiled)
  }
  return compiled.matches(text)
}

/** One of two: a value as it is, or a pattern, told apart by the name of the field that holds it. */
export type Rule = { case: string | undefined; value?: string | undefined }

export const fits = ({ case: field, value = '' }: Rule, text: string): boolean =>
  field?.endsWith('Pattern') ? matchesPattern(value, text) : value === text
