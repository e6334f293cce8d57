// Patterns of claims: RE2 expressions, which take linear time whatever they are given, and which a claim has
// to match from its first character to its last.
import { RE2JS, RE2JSSyntaxException } from 're2js'

/** What is wrong with a pattern. */
export function patternFault(pattern: string): string | undefined {
  if (pattern === '') return 'must not be empty'
  try {
    RE2JS.compile(pattern)
    return undefined
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error
    return `must be an RE2 regular expression: ${error.getDescription()}`
  }
}
