// Runs RE2 expressions, which the server uses for the patterns of claims, as regular expressions of JavaScript.
import type { RunExpression } from '@stemma/api/claims/match-pattern.ts'

/** Thrown for an expression that JavaScript may understand differently from RE2. */
class Untranslatable extends Error {}

type Match = (run: RunExpression, pattern: string, text: string) => boolean

/** Undefined if JavaScript cannot run the pattern as the server does. */
export function matchInBrowser(match: Match, pattern: string, text: string): boolean | undefined {
  try {
    return match(runExpression, pattern, text)
  } catch (error) {
    if (error instanceof Untranslatable) return undefined
    throw error
  }
}

function runExpression(expression: string, text: string): boolean {
  const [, flags = '', body = expression] = /^\(\?([is]+)\)(.*)$/su.exec(expression) ?? []
  const source = body.replace(token, (each) => translate(each, flags.includes('s')))
  let compiled: RegExp
  try {
    compiled = new RegExp(`^(?:${source})$`, flags.includes('i') ? 'iu' : 'u')
  } catch (error) {
    throw new Untranslatable(undefined, { cause: error })
  }
  return compiled.test(text)
}

const escapeSource = /\\(?:[pP]\{[^}]*\}|[pP].|x\{[^}]*\}|x[0-9A-Fa-f]{2}|.)/su.source
/** An escape, a class (in which a first `]` is a member), the start of a group, a repetition, or one character. */
const token = new RegExp(
  `${escapeSource}|\\[\\^?\\]?(?:${escapeSource}|\\[:|[^\\]\\\\])*\\]|\\((?:\\?(?:P?<\\w+>|:)?)?|\\{\\d+(?:,\\d*)?\\}|.`,
  'gsu',
)

function translate(each: string, dotMatchesAll: boolean): string {
  if (each === '.') return dotMatchesAll ? '[^]' : '[^\\n]'
  if (each.startsWith('\\')) return translateEscape(each, false)
  if (each.startsWith('[')) return translateClass(each)
  if (each === '(?') throw new Untranslatable() // flags within the expression
  if (each.startsWith('(')) return '(?:'
  return ['{', '}', ']'].includes(each) ? `\\${each}` : each
}

function translateClass(each: string): string {
  const [, start = '', members = ''] = /^(\[\^?)(.*)\]$/su.exec(each) ?? []
  if (start === '' || members.includes('[:')) throw new Untranslatable()
  const translated = members.replace(new RegExp(`${escapeSource}|[[\\]]`, 'gsu'), (member) =>
    member.startsWith('\\') ? translateEscape(member, true) : `\\${member}`,
  )
  return `${start}${translated}]`
}

/** In RE2, white space is only that of ASCII. */
const space = '\\t\\n\\f\\r '

function translateEscape(each: string, isInClass: boolean): string {
  if (/^\\[dDwWtnrfv]$/.test(each)) return each
  if (each === '\\s') return isInClass ? space : `[${space}]`
  const outsideClass: Record<string, string> = {
    ...{ '\\S': `[^${space}]`, '\\b': each, '\\B': each, '\\A': '^', '\\z': '$' },
  }
  if (!isInClass && outsideClass[each] !== undefined) return outsideClass[each]
  // Of the names after \p, both languages understand general categories, such as L or Lu, in the same way.
  const [, property, category] = /^\\([pP])\{?([CLMNPSZ][a-z]?)\}?$/.exec(each) ?? []
  if (category) return `\\${property}{${category}}`
  const [, code] = /^\\x\{?([0-9A-Fa-f]+)\}?$/.exec(each) ?? []
  if (code) return `\\u{${code}}`
  if (/^\\[\^$\\.*+?()[\]{}|/]$/.test(each) || (isInClass && each === '\\-')) return each
  // RE2 accepts a backslash before every punctuation character, JavaScript only before those with a meaning.
  if (/^\\[!-/:-@[-`{-~]$/.test(each)) return each.slice(1)
  throw new Untranslatable()
}
