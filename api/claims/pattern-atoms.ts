// Splits a valid RE2 expression into its atoms, so that parts of it can be examined.

export type Atom = {
  /** `other` is an atom that can change the meaning of its neighbours, such as `\Q` or `(?i)`, or a rare escape. */
  kind: 'literal' | 'any' | 'class' | 'group' | 'anchor' | 'or' | 'other'
  /** The source with its repetition. */
  text: string
  /** The character of a literal. */
  literal: string
  /** The expression inside a group. */
  body: string
  isRepeated: boolean
}

/** An escape, a class (in which a first `]` is a member), the start of a group, or one character. */
const token =
  /\\(?:[pPx]\{[^}]*\}|x[0-9A-Fa-f]{2}|[pP].|[0-7]{1,3}|.)|\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]|\((?:\?(?:P?<\w+>|[a-zA-Z-]*[:)]))?|./suy
const repetition = /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y

export function atomsOf(pattern: string): Atom[] {
  const atoms: Atom[] = []
  for (let at = 0; at < pattern.length; ) {
    const firstToken = tokenAt(token, pattern, at)
    const isGroup = isGroupStart(firstToken)
    const bodyAt = at + firstToken.length
    const bodyEnd = isGroup ? endOfGroup(pattern, bodyAt) : bodyAt
    const atomEnd = isGroup ? bodyEnd + 1 : bodyEnd
    const repeat = tokenAt(repetition, pattern, atomEnd)
    const end = atomEnd + repeat.length
    const literal = literalOf(firstToken)
    const kind = literal === '' ? kindOf(firstToken) : 'literal'
    const body = pattern.slice(bodyAt, bodyEnd)
    atoms.push({ kind, literal, body, isRepeated: repeat !== '', text: pattern.slice(at, end) })
    at = end
  }
  return atoms
}

function tokenAt(expression: RegExp, pattern: string, at: number): string {
  expression.lastIndex = at
  return expression.exec(pattern)?.[0] ?? ''
}

const isGroupStart = (start: string) => start.startsWith('(') && !start.endsWith(')')

/** The index of the `)` that closes a group. */
function endOfGroup(pattern: string, from: number): number {
  let depth = 1
  for (let at = from; at < pattern.length; ) {
    const text = tokenAt(token, pattern, at)
    if (isGroupStart(text)) depth++
    else if (text === ')') depth--
    if (depth === 0) return at
    at += text.length
  }
  return pattern.length
}

/** The character that a token matches; empty if the token is not a literal. */
function literalOf(start: string): string {
  if (/^\\[!-/:-@[-`{-~]$/.test(start)) return start.slice(1)
  return /^[^\\[().|^$*+?]$/su.test(start) ? start : ''
}

function kindOf(start: string): Atom['kind'] {
  if (start === '.') return 'any'
  if (start === '|') return 'or'
  if (/^(?:[$^]|\\[AzbB])$/.test(start)) return 'anchor'
  if (start.startsWith('[') || /^\\[dDwWsSpP]/.test(start)) return 'class'
  return /^\((?:\?(?::|P?<\w+>))?$/.test(start) ? 'group' : 'other'
}

/** Splits atoms at each `|`. */
export function alternativesOf(atoms: readonly Atom[]): Atom[][] {
  const alternatives: Atom[][] = [[]]
  for (const atom of atoms) {
    if (atom.kind === 'or') alternatives.push([])
    else alternatives.at(-1)?.push(atom)
  }
  return alternatives
}

export const sourceOf = (atoms: readonly Atom[]) => atoms.map(({ text }) => text).join('')

/** Whether one of these atoms, or an atom inside one of their groups, passes the test. */
export const someAtom = (atoms: readonly Atom[], test: (atom: Atom) => boolean): boolean =>
  atoms.some((atom) => test(atom) || (atom.kind === 'group' && someAtom(atomsOf(atom.body), test)))
