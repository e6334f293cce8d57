// Verifies tokens of other issuers.
import type { JWTVerifyGetKey } from 'jose'
import { errors, jwtVerify } from 'jose'
import type { Claims } from '../../claims/match.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import { invalidForeign, requireClaims } from './read.ts'
import { throwUnverifiable } from './unverifiable.ts'

/** Tolerated difference between the issuer's clock and ours, in seconds. */
const clockTolerance = 60
const defaultMaxAge = '24h'
/** A pull token is verified with static keys, which expire after at most 365 days. */
export const maxPullTokenAge = '366d'

/** Asymmetric algorithms only: never `none`, and no shared secrets (RFC 8725, 3.1). */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

/** Returns the claims of a token that one of the keys signed and that is neither expired nor too old. */
export async function verifyForeign(
  token: string,
  issuer: string,
  keys: JWTVerifyGetKey,
  now: number,
  maxTokenAge = defaultMaxAge,
): Promise<Claims> {
  const { payload } = await jwtVerify(token, keys, {
    ...{ issuer, algorithms, clockTolerance, maxTokenAge },
    requiredClaims: ['exp', 'iat', 'sub', 'aud'],
    currentDate: new Date(now),
  }).catch((error: unknown) => {
    throw error instanceof errors.JWKSNoMatchingKey ? error : invalidForeign('verification failed', error)
  })
  return requireClaims(payload)
}

/** When a verified token was issued, in seconds since 1970. */
export const issuedAtOf = ({ iat }: Claims): number => Number(iat) // verifyForeign requires it

/** Verifies with the keys that the issuer publishes. If none matches, they are fetched again: the key may be new. */
export async function verifyByDiscovery(
  token: string,
  issuer: string,
  { find }: IssuerKeys,
  now: number,
): Promise<Claims> {
  try {
    return await verifyForeign(token, issuer, await find(issuer, false), now)
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) return throwUnverifiable(error)
    return find(issuer, true)
      .then((keys) => verifyForeign(token, issuer, keys, now))
      .catch(throwUnverifiable)
  }
}
