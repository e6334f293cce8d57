// The limits of a token: it can be restricted to groups (`scopes`) and capabilities (`cap`) of its identity.
import type { JWTPayload } from 'jose'
import { invalidField } from '../../aip/errors.ts'
import { isAtOrBelow, isUid } from '../../aip/uid.ts'
import type { TokenLimits } from '../../wire/caller.ts'
import { invalidToken } from './invalid-token.ts'

const maxScopes = 100

/** The limits of a verified token. */
export const limitsOf = ({ scopes, cap }: JWTPayload): TokenLimits => ({
  ...(scopes !== undefined && { scopes: stringsOf('scopes', scopes) }),
  ...(cap !== undefined && { capabilities: stringsOf('cap', cap) }),
})

function stringsOf(name: string, claim: unknown): string[] {
  if (Array.isArray(claim) && claim.every((item) => typeof item === 'string')) return claim
  throw invalidToken(`the claim ${name} of the token must be a list of strings`)
}

/** The limits that a request asks for: uids of groups (one in the deprecated `scope`) and names of capabilities. */
export function requestedLimits(
  { scope = '', scopes, cap }: { scope?: string; scopes: readonly string[]; cap: readonly string[] },
  isCapability: (name: string) => boolean,
): TokenLimits {
  // An empty element is an error: a script whose variable is empty must not get an unlimited token.
  const groups = [...new Set([...(scope === '' ? [] : [scope]), ...scopes])]
  if (!groups.every(isUid)) throw invalidField('scopes', 'must be uids of groups; omit it for no limit')
  requireCapabilities('cap', cap, isCapability)
  return {
    ...(groups.length > 0 && { scopes: groups }),
    ...(cap.length > 0 && { capabilities: [...new Set(cap)] }),
  }
}

/** `field` is the parameter that contains the names. */
export function requireCapabilities(
  field: string,
  names: readonly string[],
  isCapability: (name: string) => boolean,
): void {
  const unknown = names.find((name) => !isCapability(name))
  if (unknown !== undefined)
    throw invalidField(
      field,
      `must be names of capabilities such as groups.list, not ${JSON.stringify(unknown.slice(0, 40))}; omit it for no limit`,
    )
}

/** The limits that allow only what both `a` and `b` allow. */
export function intersect(a: TokenLimits, b: TokenLimits): TokenLimits {
  const capabilities =
    a.capabilities && b.capabilities
      ? a.capabilities.filter((name) => b.capabilities?.includes(name))
      : (a.capabilities ?? b.capabilities)
  const scopes = a.scopes && b.scopes ? intersectScopes(a.scopes, b.scopes) : (a.scopes ?? b.scopes)
  if (scopes) requireFewScopes('scopes', scopes)
  return { ...(scopes && { scopes }), ...(capabilities && { capabilities }) }
}

/** `field` is the parameter that contains the scopes. */
export function requireFewScopes(field: string, scopes: readonly string[]): void {
  if (scopes.length > maxScopes) throw invalidField(field, `must name at most ${maxScopes} groups`)
}

/** The lower group of each pair in which one group is at or below the other. */
function intersectScopes(a: readonly string[], b: readonly string[]): string[] {
  const lower = (x: string, y: string) => (isAtOrBelow(x, y) ? [x] : isAtOrBelow(y, x) ? [y] : [])
  return [...new Set(a.flatMap((x) => b.flatMap((y) => lower(x, y))))]
}
