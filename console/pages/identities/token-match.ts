// Compares a token with the rules of an identity, in the browser only: the token is neither sent nor stored.
import { matchIssuerPattern, matchPattern } from '@stemma/api/claims/match-pattern.ts'
import type { IdentityJson } from '@stemma/api/json/platform/iam/v2beta1/identity'
import { matchInBrowser } from './re2-expression.ts'

export type Claims = Record<string, unknown>

export type ClaimResult = {
  claim: string
  /** The value in the token, as text. */
  actual: string
  /** The rule of the identity, as text. */
  expected: string
  /** Undefined if it cannot be checked in the browser. */
  matches: boolean | undefined
}

/** The claims of a JSON Web Token; undefined if the text is not one. The signature is not checked. */
export function claimsOf(token: string): Claims | undefined {
  const [, payload = '', signature] = token.trim().split('.')
  if (!signature) return undefined
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (char) =>
      char.charCodeAt(0),
    )
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return typeof claims === 'object' && claims !== null ? (claims as Claims) : undefined
  } catch {
    return undefined
  }
}

/** The audiences that the server accepts if an identity names none. */
export const ownAudiencesOf = (issuer: string, baseUrl: string) => [issuer, baseUrl, new URL(issuer).host]

/**
 * Compares every rule of the identity with the claim of the token. `ownAudiences` are accepted if the
 * identity names no audience. The times are those of server/auth/foreign-tokens/verify.ts.
 */
export function compareClaims(
  { claimMatch, staticKeys }: IdentityJson,
  claims: Claims,
  ownAudiences: readonly string[],
  now: number,
): ClaimResult[] {
  const { issuer, subject } = claimMatch ?? staticKeys ?? {}
  const named = claimMatch?.audience ? [claimMatch.audience] : (staticKeys?.audiences ?? [])
  return [
    requireText(
      compare('iss', claims.iss, issuer, claimMatch?.issuerPattern, matchIssuerPattern),
      claims.iss,
    ),
    requireText(compare('sub', claims.sub, subject, claimMatch?.subjectPattern), claims.sub),
    compareAudience(claims.aud, named.length > 0 ? named : ownAudiences, claimMatch?.audiencePattern),
    ...Object.entries(claimMatch?.claims ?? {}).map(([name, value]) => compare(name, claims[name], value)),
    ...Object.entries(claimMatch?.claimPatterns ?? {}).map(([name, pattern]) =>
      compare(name, claims[name], undefined, pattern),
    ),
    compareTime('exp', claims.exp, 'in the future', (time) => time > now - clockToleranceMs),
    ...(claims.nbf === undefined
      ? []
      : [compareTime('nbf', claims.nbf, 'in the past', (time) => time <= now + clockToleranceMs)]),
    claimMatch
      ? compareTime('iat', claims.iat, 'within the last 24 hours', wasIssuedWithin(dayMs, now))
      : compareTime(
          'iat',
          claims.iat,
          `within the last 24 hours, or ${maxPullTokenDays} days for the registry`,
          wasIssuedWithin(maxPullTokenDays * dayMs, now),
        ),
    ...(staticKeys ? [checkKeys(staticKeys.expirationTime, now)] : []),
  ]
}

/** The server refuses static keys that have expired. */
const checkKeys = (expirationTime: string | undefined, now: number): ClaimResult => ({
  ...{ claim: 'expiry of the keys', actual: expirationTime ?? '', expected: 'in the future' },
  matches: expirationTime !== undefined && Date.parse(expirationTime) > now,
})

const dayMs = 24 * 60 * 60_000
/** The registry accepts tokens of static keys for this long. An exchange does not. */
const maxPullTokenDays = 366
/** Difference between the clocks of issuer and server that the server tolerates. */
const clockToleranceMs = 60_000

const wasIssuedWithin = (maxAgeMs: number, now: number) => (time: number) =>
  now - time <= maxAgeMs + clockToleranceMs && time - now <= clockToleranceMs

/** Compares `exp`, `iat` or `nbf`. The server requires the first two. */
function compareTime(
  claim: string,
  value: unknown,
  expected: string,
  isAccepted: (time: number) => boolean,
): ClaimResult {
  if (typeof value !== 'number') return { claim, actual: textOf(value), expected, matches: false }
  const time = value * 1000
  // Some issuers state a time beyond the range of `Date`, for tokens that do not expire.
  const actual = Number.isNaN(new Date(time).getTime()) ? textOf(value) : new Date(time).toISOString()
  return { claim, actual, expected, matches: isAccepted(time) }
}

function compare(
  claim: string,
  value: unknown,
  exact: string | undefined,
  pattern?: string,
  match = matchPattern,
): ClaimResult {
  const actual = textOf(value)
  const isExact = exact !== undefined
  const matches =
    canMatch(value) && (isExact ? actual === exact : pattern ? matchInBrowser(match, pattern, actual) : false)
  const expected = isExact ? exact || '(empty)' : pattern ? `pattern ${pattern}` : 'a value'
  return { claim, actual: value === '' ? '(empty)' : actual, expected, matches }
}

/** The server refuses a token whose issuer or subject is not a string, or is empty, even if a pattern matches it. */
const requireText = (result: ClaimResult, value: unknown): ClaimResult =>
  isFilled(value) ? result : { ...result, matches: false }

/** One of several audiences is enough. The server refuses a token if any audience is not a string. */
function compareAudience(
  value: unknown,
  accepted: readonly string[],
  pattern: string | undefined,
): ClaimResult {
  const audiences: unknown[] = Array.isArray(value) ? value : [value]
  const results = audiences.map((audience) =>
    pattern ? matchInBrowser(matchPattern, pattern, textOf(audience)) : accepted.includes(textOf(audience)),
  )
  const isAccepted = results.includes(true) || (results.includes(undefined) ? undefined : false)
  return {
    claim: 'aud',
    actual: audiences.map(textOf).join(', '),
    expected: pattern ? `pattern ${pattern}` : (accepted[0] ?? ''),
    matches: audiences.every(isFilled) && isAccepted,
  }
}

/** For `iss`, `sub` and each audience. The server also refuses NUL in them. */
const isFilled = (value: unknown) => typeof value === 'string' && value !== '' && !value.includes('\0')

/** Missing claims, arrays and objects never match, as on the server. */
const canMatch = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)

const textOf = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
