// Patterns of claims: RE2 expressions, which take linear time whatever they are given, and which a claim has
// to match from its first character to its last.
import { RE2JS, RE2JSSyntaxException } from 're2js'

/** What is wrong with a pattern. */
export function patternFault(pattern: string): string | undefined {
  if (repeatsOf(pattern) > mostRepeats)
    return `must not repeat anything more than ${mostRepeats} times, taken together`
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
const mostRepeats = 200
const repeat = /\\.|(\)?)\{(\d{1,9})(?:,(\d{0,9}))?\}/gs

/** At most how often something stands in the pattern once its repeats are written out. */
function repeatsOf(pattern: string): number {
  let total = 1
  for (const [, isGroup, least, most] of pattern.matchAll(repeat)) {
    if (least === undefined) continue
    const times = Math.max(Number(least), Number(most ?? 0))
    // What is inside a group is repeated with it.
    total = isGroup ? total * Math.max(1, times) : total + times
  }
  return total
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

/** Whether a text matches a pattern whole. Patterns are kept compiled, since tokens come often. */
export function matchesPattern(pattern: string, text: string): boolean {
  let compiled = kept.get(pattern)
  if (!compiled) {
    compiled = RE2JS.compile(pattern)
    if (kept.size >= mostKept) kept.delete(kept.keys().next().value as string) // not empty
    kept.set(pattern, compiled)
  }
  return compiled.matches(text)
}
