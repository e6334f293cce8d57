// Patterns of issuers. Keys are fetched from every issuer that matches, so a pattern must name the domain of
// its hosts in full.
import { matchIssuerPattern } from '@stemma/api/claims/match-pattern.ts'
import type { Atom } from '@stemma/api/claims/pattern-atoms.ts'
import { alternativesOf, atomsOf, someAtom } from '@stemma/api/claims/pattern-atoms.ts'
import { splitUrlPattern } from '@stemma/api/claims/url-pattern.ts'
import type { Patterns, ValueOrPattern } from './pattern.ts'
import { patternFault, runWith } from './pattern.ts'

const example = 'https://[a-z0-9-]+\\.example\\.com/.+'

/** Describes what is wrong with the pattern of an issuer. */
export function issuerPatternFault(pattern: string): string | undefined {
  const fault = patternFault(pattern)
  if (fault) return fault
  const alternatives = splitUrlPattern(pattern)
  if (!alternatives) return `must start with https:// and a host, such as ${example}`
  for (const alternative of alternatives) {
    if (alternative === 'unclear' || !('parts' in alternative))
      return `must consist of https://, a host and a path, and each alternative (a|b) must be such a URL, for example ${example}`
    const hostFault = faultOfHost(atomsOf(alternative.parts.host))
    if (hostFault) return hostFault
  }
  return undefined
}

/** A mistake that is often made: the unescaped `.` of `accounts.example.com` also matches `accounts-example.com`. */
const isBareDot = ({ kind, isRepeated }: Atom) => kind === 'any' && !isRepeated

function faultOfHost(host: Atom[]): string | undefined {
  if (someAtom(host, isBareDot))
    return 'must escape the dots of its host: \\. matches a dot, and . any character'
  const budget = { left: maxCombinations }
  return alternativesOf(host).every((sequence) => hasFixedEnd(sequence, budget))
    ? undefined
    : `must name the domain of its hosts in full, such as ${example}`
}

/** The maximum number of combinations of alternatives that are examined. A host with more is refused. */
const maxCombinations = 200

/**
 * Whether the pattern of a host matches a single host, or ends with a literal domain. The alternatives of a group are
 * examined one by one.
 */
function hasFixedEnd(atoms: Atom[], budget: { left: number }): boolean {
  if (--budget.left < 0) return false
  const at = atoms.findLastIndex(({ kind, isRepeated }) => kind !== 'literal' || isRepeated)
  const end = atoms.slice(at + 1)
  if (at < 0 || isDotAndDomain(end.map(({ literal }) => literal).join(''))) return true
  const { kind, isRepeated, body } = atoms[at] as Atom // `at` is an index of `atoms`
  if (kind !== 'group' || isRepeated) return false
  const start = atoms.slice(0, at)
  return alternativesOf(atomsOf(body)).every((inner) => hasFixedEnd([...start, ...inner, ...end], budget))
}

/** Domains of one label that nobody can register publicly (RFC 6761, RFC 6762, and `internal`). */
const privateDomains = new Set(['test', 'example', 'invalid', 'localhost', 'local', 'internal'])

/**
 * Whether a text is a dot and a domain, such as `.example.com`. Without the dot, `attackerexample.com` would also
 * match.
 */
function isDotAndDomain(end: string): boolean {
  const [before, ...labels] = end.split('.')
  if (before !== '' || labels.includes('')) return false
  return labels.length > 1 || privateDomains.has(labels[0] ?? '')
}

/** Whether an issuer is the issuer of the rule, or matches the pattern of the rule. */
export function matchesIssuer(patterns: Patterns, rule: ValueOrPattern, issuer: string): boolean {
  if (rule.case !== 'issuerPattern') return rule.case === 'issuer' && rule.value === issuer
  return matchIssuerPattern(runWith(patterns), rule.value ?? '', issuer)
}
