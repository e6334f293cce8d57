// Decides whether an identity accepts tokens that this server issues to a workload, and estimates the cost of deciding.
import { fromBinary } from '@bufbuild/protobuf'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { matchesIssuer } from './issuer-pattern.ts'
import type { Patterns, ValueOrPattern } from './pattern.ts'
import { expandedLength, matches } from './pattern.ts'

/** The claims besides issuer, subject and audience that the token of a workload contains as text or number. */
const workloadClaims = new Set(['client_id', 'iat', 'nbf', 'exp', 'jti'])

/**
 * Whether an identity accepts tokens of an issuer for a subject. The audience and the values
 * of `workloadClaims` are assumed to match.
 */
export function trusts(
  patterns: Patterns,
  { relationship }: Identity,
  issuer: string,
  subject: string,
): boolean {
  if (relationship.case === 'staticKeys')
    return relationship.value.issuer === issuer && relationship.value.subject === subject
  if (relationship.case !== 'claimMatch') return false
  const { iss, sub, claims, claimPatterns } = relationship.value
  return (
    Object.keys({ ...claims, ...claimPatterns }).every((name) => workloadClaims.has(name)) &&
    matchesIssuer(patterns, iss, issuer) &&
    matches(patterns, sub, subject)
  )
}

/** Compiling a pattern takes as long as matching it with a text of this length. */
const compileLength = 50

/**
 * Returns a function that computes an upper bound of the cost of `trusts` for a subject. The cost is 0 if the identity
 * has no patterns. Its unit is the time to match one character of a pattern (with its repeats written out) with one
 * character of the text: at most 0.15 µs, measured with patterns that have many states.
 */
export function trustCost({ relationship }: Identity, issuer: string): (subject: string) => number {
  if (relationship.case !== 'claimMatch') return () => 0
  const { iss, sub } = relationship.value
  const issuerCost = matchCost(iss)(issuer)
  const subjectCost = matchCost(sub)
  return (subject) => issuerCost + subjectCost(subject)
}

function matchCost({ case: field, value = '' }: ValueOrPattern): (text: string) => number {
  if (!field?.endsWith('Pattern')) return () => 0
  const size = expandedLength(value)
  // A URL pattern is first split into scheme, host, port and path. This parses the text in parentheses again at each
  // level of nesting, so the time can grow with the square of the length.
  const splitCost = value.includes(':') ? value.length ** 2 : 0
  return (text) => size * (compileLength + text.length) + splitCost
}

/** Asks a thread whether each identity trusts the subject at the same index. */
export type TrustTask = {
  kind: 'trust'
  issuer: string
  identities: readonly Uint8Array[]
  subjects: readonly string[]
}

export const performTrustCheck = (
  patterns: Patterns,
  { issuer, identities, subjects }: TrustTask,
): boolean[] =>
  identities.map((bytes, at) =>
    trusts(patterns, fromBinary(IdentitySchema, bytes), issuer, subjects[at] ?? ''),
  )
