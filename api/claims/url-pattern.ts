// Splits patterns of URLs into scheme, host, port and path, which are matched separately. Matched as one expression,
// `https://.+\.example\.com` would accept `https://attacker.test/x.example.com`, because `.+` matches `/`.
import type { Atom } from './pattern-atoms.ts'
import { alternativesOf, atomsOf, someAtom, sourceOf } from './pattern-atoms.ts'

/**
 * The parts of a URL, or their patterns. `port` includes its `:`, and `path` its `/` and the query
 * and fragment of a URL. Both can be empty.
 */
export type UrlParts = { scheme: string; host: string; port: string; path: string }

/**
 * A URL without a user, and without characters in the host that URL parsers treat in a special way, such as `\` or `%`.
 */
const url = /^([a-z][a-z0-9+.-]*):\/\/([A-Za-z0-9._-]+)(:\d{1,5})?((?:[/?#].*)?)$/s

export function partsOf(text: string): UrlParts | undefined {
  const [, scheme, host, port = '', path = ''] = url.exec(text) ?? []
  return scheme === undefined || host === undefined ? undefined : { scheme, host, port, path }
}

/** An alternative of a pattern: the parts of a URL, any other text, or a URL that cannot be split. */
export type PatternAlternative = { parts: UrlParts } | { text: string } | 'unclear'

/** Slashes may be escaped, and the last letter may be optional, as in `https?://`. */
const schemeStart = /^([a-z][a-z0-9+-]*\??):\\?\/\\?\//

/** Undefined if no alternative starts with a scheme. */
export function splitUrlPattern(pattern: string): PatternAlternative[] | undefined {
  if (!pattern.includes(':/') && !pattern.includes(':\\/')) return undefined
  const atoms = atomsOf(pattern)
  const sequences = sequencesOf(atoms)
  if (!sequences.some((sequence) => schemeStart.test(sourceOf(sequence)))) return undefined
  return someAtom(atoms, ({ kind }) => kind === 'other') ? ['unclear'] : sequences.map(splitSequence)
}

/**
 * Whether an alternative contains `://` but does not start with a scheme, such as `(https|http)://…`. It is matched as
 * one expression.
 */
export const hasUnsplitUrl = (pattern: string): boolean =>
  sequencesOf(atomsOf(pattern)).some(
    (sequence) => !schemeStart.test(sourceOf(sequence)) && literalsOf(sequence).includes('://'),
  )

/**
 * The literals of a sequence and of its groups, as one text. A repeated literal occurs twice. Each
 * class, `.` and `|` becomes a space; anchors and atoms of the kind `other` are left out.
 */
const literalsOf = (atoms: readonly Atom[]): string =>
  atoms
    .map(({ kind, literal, body, isRepeated }) => {
      if (kind === 'literal') return isRepeated ? literal.repeat(2) : literal
      if (kind === 'group') return literalsOf(atomsOf(body))
      return kind === 'anchor' || kind === 'other' ? '' : ' '
    })
    .join('')

/**
 * The alternatives of a pattern, without the anchors around them. If an alternative is a single group, it is replaced
 * by the alternatives of the group.
 */
function sequencesOf(atoms: readonly Atom[]): Atom[][] {
  return alternativesOf(atoms).flatMap((alternative) => {
    const from = alternative[0]?.text === '^' ? 1 : 0
    const to = alternative.at(-1)?.text === '$' ? -1 : alternative.length
    const sequence = alternative.slice(from, to)
    const [onlyAtom] = sequence
    const isGroup = sequence.length === 1 && onlyAtom?.kind === 'group' && !onlyAtom.isRepeated
    return isGroup ? sequencesOf(atomsOf(onlyAtom.body)) : [sequence]
  })
}

function splitSequence(atoms: Atom[]): PatternAlternative {
  const [start, scheme] = schemeStart.exec(sourceOf(atoms)) ?? []
  if (start === undefined || scheme === undefined) return { text: sourceOf(atoms) }
  const afterScheme = atoms.slice(atomsOf(start).length)
  const pathAt = positionOf('/', afterScheme)
  const portAt = positionOf(':', afterScheme.slice(0, pathAt))
  const host = afterScheme.slice(0, portAt)
  const isClear =
    host.length > 0 &&
    !someAtom(afterScheme, ({ kind }) => kind === 'anchor') &&
    !someAtom(host, ({ literal }) => literal !== '' && '/@?#:'.includes(literal))
  if (!isClear) return 'unclear'
  const [port, path] = [afterScheme.slice(portAt, pathAt), afterScheme.slice(pathAt)]
  return { parts: { scheme, host: sourceOf(host), port: sourceOf(port), path: sourceOf(path) } }
}

/**
 * The index of the first atom that is this character, or a group that starts with this character; `atoms.length` if
 * there is none.
 */
function positionOf(character: string, atoms: readonly Atom[]): number {
  const isStart = ({ kind, literal, body }: Atom) =>
    literal === character || (kind === 'group' && atomsOf(body)[0]?.literal === character)
  const at = atoms.findIndex(isStart)
  return at < 0 ? atoms.length : at
}
