// Matches the claims of a token against the rules of an identity.
import type { Identity, Identity_ClaimMatch } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { matchesIssuer } from './issuer-pattern.ts'
import type { Patterns } from './pattern.ts'
import { matches, matchesPattern } from './pattern.ts'

export type Claims = { [name: string]: unknown; iss: string; sub: string; aud: string | string[] }

/** Whether an identity accepts tokens of this issuer at all. Checked before any request to the issuer. */
export function acceptsIssuer(patterns: Patterns, { relationship }: Identity, issuer: string): boolean {
  if (relationship.case === 'staticKeys') return relationship.value.issuer === issuer
  if (relationship.case !== 'claimMatch') return false
  return matchesIssuer(patterns, relationship.value.iss, issuer)
}

/** The name of the first claim that does not match; `ownAudiences` are accepted if the identity names no audience. */
export function mismatchedClaim(
  patterns: Patterns,
  { relationship }: Identity,
  claims: Claims,
  ownAudiences: readonly string[],
): string | undefined {
  switch (relationship.case) {
    case 'claimMatch':
      return mismatchInRules(patterns, relationship.value, claims, ownAudiences)
    case 'staticKeys': {
      const { issuer, subject, audiences } = relationship.value
      if (claims.iss !== issuer) return 'iss'
      if (claims.sub !== subject) return 'sub'
      const accepted = audiences.length > 0 ? audiences : ownAudiences
      return [claims.aud].flat().some((audience) => accepted.includes(audience)) ? undefined : 'aud'
    }
    default:
      return 'iss'
  }
}

function mismatchInRules(
  patterns: Patterns,
  { iss, sub, aud, claims: exact, claimPatterns }: Identity_ClaimMatch,
  claims: Claims,
  ownAudiences: readonly string[],
): string | undefined {
  if (!matchesIssuer(patterns, iss, claims.iss)) return 'iss'
  if (!matches(patterns, sub, claims.sub)) return 'sub'
  const isAccepted = (audience: string) =>
    aud.case === undefined ? ownAudiences.includes(audience) : matches(patterns, aud, audience)
  if (![claims.aud].flat().some(isAccepted)) return 'aud'
  for (const [name, value] of Object.entries(exact)) {
    if (textOf(claims, name) !== value) return name
  }
  for (const [name, pattern] of Object.entries(claimPatterns)) {
    const text = textOf(claims, name)
    if (text === undefined || !matchesPattern(patterns, pattern, text)) return name
  }
  return undefined
}

/** A claim as text. Numbers and booleans are compared in their JSON form; arrays and objects never match. */
function textOf(claims: Claims, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}
