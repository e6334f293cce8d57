// Whether an identity recognises the claims of a token.
import type { Identity, Identity_ClaimMatch } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { fits, matchesPattern } from '../claims/pattern.ts'
import type { Claims } from './foreign-token.ts'

/** The claim that does not fit; undefined where all do. */
export function strangeClaim(
  identity: Identity,
  claims: Claims,
  ownAudiences: readonly string[],
): string | undefined {
  const { relationship } = identity
  const audiences = [claims.aud].flat()
  switch (relationship.case) {
    case 'claimMatch':
      return strangeIn(relationship.value, claims, audiences, ownAudiences)
    case 'staticKeys': {
      const { issuer, subject, audiences: named } = relationship.value
      if (claims.iss !== issuer) return 'iss'
      if (claims.sub !== subject) return 'sub'
      const accepted = named.length > 0 ? named : ownAudiences
      return audiences.some((one) => accepted.includes(one)) ? undefined : 'aud'
    }
    default:
      return 'iss'
  }
}

/** Whether an identity would take a token of this issuer at all: asked before anything is fetched. */
export function takesIssuer({ relationship }: Identity, issuer: string): boolean {
  if (relationship.case === 'staticKeys') return relationship.value.issuer === issuer
  if (relationship.case !== 'claimMatch') return false
  const { iss } = relationship.value
  return fits(iss, issuer)
}

function strangeIn(
  { iss, sub, aud, claims: exact, claimPatterns }: Identity_ClaimMatch,
  claims: Claims,
  audiences: string[],
  ownAudiences: readonly string[],
): string | undefined {
  if (!fits(iss, claims.iss)) return 'iss'
  if (!fits(sub, claims.sub)) return 'sub'
  const isForUs = (one: string) => (aud.case === undefined ? ownAudiences.includes(one) : fits(aud, one))
  if (!audiences.some(isForUs)) return 'aud'
  for (const [name, value] of Object.entries(exact)) {
    if (textOf(claims, name) !== value) return name
  }
  for (const [name, pattern] of Object.entries(claimPatterns)) {
    const text = textOf(claims, name)
    if (text === undefined || !matchesPattern(pattern, text)) return name
  }
  return undefined
}

/** Numbers and truth values are compared as JSON writes them; nothing else is compared at all. */
function textOf(claims: Claims, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}
