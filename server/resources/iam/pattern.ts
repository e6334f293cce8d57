// Patterns of claims: RE2 expressions, which take linear time whatever they are given, and which a claim has
// to match from its first character to its last.
import { RE2JS, RE2JSSyntaxException } from 're2js'

/** What is wrong with a pattern. */
export function patternFault(pattern: string): string | undefined {
  const compiled = compile(pattern)
  if (typeof compiled === 'string') return `must be an RE2 regular expression: ${compiled}`
  // A claim that is empty says nothing, and should match nothing.
  return compiled.matches('') ? 'must not match the empty string; .+ is anything but that' : undefined
}

/** Nobody's, by RFC 6761. */
const nobodys = ['https://nobody.invalid', 'https://nobody.invalid/']

/** Keys are fetched from whatever issuer matches, so a pattern has to say whose. */
export function issuerPatternFault(pattern: string): string | undefined {
  const compiled = compile(pattern)
  const isForAll = typeof compiled !== 'string' && nobodys.some((issuer) => compiled.matches(issuer))
  return (
    patternFault(pattern) ??
    (isForAll ? 'must say whose issuers it means, such as https://.+\\.example\\.com' : undefined)
  )
}

function compile(pattern: string): RE2JS | string {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error
    return error.getDescription()
  }
}
