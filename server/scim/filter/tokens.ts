// Splits a filter (RFC 7644 section 3.4.2.2) into tokens.
import { badRequest, shortened } from '../errors.ts'
import { maxFilterLength } from '../limits.ts'

/** `text` is the value of a string, and the characters of any other token as they were written. */
export type Token = { kind: 'word' | 'string' | 'number' | 'symbol'; text: string }

/** The pattern is anchored and has no nested repetitions, so matching takes linear time. */
const tokenPattern =
  /\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.:$/-]))|([()[\]])|([\w$:./%-]+))/y

export function tokensOf(text: string): Token[] {
  if (text.length > maxFilterLength)
    throw badRequest('invalidFilter', `a filter must have at most ${maxFilterLength} characters`)
  const tokens: Token[] = []
  const pattern = new RegExp(tokenPattern)
  const end = text.trimEnd().length
  while (pattern.lastIndex < end) {
    const start = pattern.lastIndex
    const [, quoted, number, symbol, word] = pattern.exec(text) ?? []
    if (quoted !== undefined) tokens.push({ kind: 'string', text: unquote(quoted) })
    else if (number !== undefined) tokens.push({ kind: 'number', text: number })
    else if (symbol !== undefined) tokens.push({ kind: 'symbol', text: symbol })
    else if (word !== undefined) tokens.push({ kind: 'word', text: word })
    else
      throw badRequest(
        'invalidFilter',
        `the filter is not valid at ${JSON.stringify(shortened(text.slice(start)))}`,
      )
  }
  return tokens
}

/** Strings are JSON strings. */
function unquote(quoted: string): string {
  try {
    return JSON.parse(quoted) as string
  } catch {
    throw badRequest('invalidFilter', `${shortened(quoted)} is not a JSON string`)
  }
}
