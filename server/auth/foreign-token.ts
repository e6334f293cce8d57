// A token of another issuer, before and after its signature is verified. Nothing in it is believed before.
import type { JWTPayload, JWTVerifyGetKey } from 'jose'
import { errors, jwtVerify } from 'jose'
import { StatusError, unauthenticated } from '../aip/errors.ts'
import { hasDuplicateMembers } from '../claims/duplicate-members.ts'
import type { IssuerKeys } from './issuer-keys.ts'

export type Claims = JWTPayload & { iss: string; sub: string; aud: string | string[] }

const longestToken = 16 * 1024
const skew = 60
const oldest = '24h'

/** No signature without a key of its own, none by a shared secret (RFC 8725). */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

/** Answered alike whatever is wrong; the cause is for the log. */
export const unverifiable = (cause: Error) =>
  unauthenticated('the token cannot be verified', 'error="invalid_token"', cause)

/** Keys at hand that do not fit, and whatever else fails where no others can be had. */
export function asUnverifiable(cause: unknown): never {
  if (cause instanceof StatusError) throw cause
  throw unverifiable(cause instanceof Error ? cause : new Error(String(cause)))
}

const invalid = (reason: string, cause?: unknown) => unverifiable(new Error(reason, { cause }))

/** What a token says of itself. */
export function readUnverified(token: string): Claims {
  if (token.length > longestToken) throw invalid('the token is too long')
  const parts = token.split('.')
  if (parts.length !== 3) throw invalid('the token is no signed JSON Web Token')
  const [header, payload] = parts.slice(0, 2).map(readPart)
  if (!header || !payload) throw invalid('the token is no JSON Web Token')
  return claimsOf(payload)
}

function readPart(part: string): Record<string, unknown> | undefined {
  const text = Buffer.from(part, 'base64url').toString()
  try {
    const value = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    // Two readers of such a token would each believe another claim.
    return isObject && !hasDuplicateMembers(text) ? value : undefined
  } catch {
    return undefined
  }
}

function claimsOf(payload: Record<string, unknown>): Claims {
  const { iss, sub, aud } = payload
  if (typeof iss !== 'string' || iss === '') throw invalid('the token names no issuer')
  if (typeof sub !== 'string' || sub === '') throw invalid('the token names no subject')
  const audiences = Array.isArray(aud) ? aud : [aud]
  if (audiences.length === 0 || !audiences.every((one) => typeof one === 'string' && one !== ''))
    throw invalid('the token names no audience')
  return payload as Claims
}

/** The claims of a token that was signed by one of the keys and is of this time. */
export async function verifyForeign(
  token: string,
  issuer: string,
  keys: JWTVerifyGetKey,
  now: number,
): Promise<Claims> {
  const { payload } = await jwtVerify(token, keys, {
    ...{ issuer, algorithms, clockTolerance: skew, maxTokenAge: oldest },
    requiredClaims: ['exp', 'iat', 'sub', 'aud'],
    currentDate: new Date(now),
  }).catch((error: unknown) => {
    throw error instanceof errors.JWKSNoMatchingKey ? error : invalid('verification failed', error)
  })
  return claimsOf(payload)
}

/** With the keys that the issuer publishes. One that is not known may be new, so they are fetched once more. */
export async function verifyByDiscovery(
  token: string,
  issuer: string,
  { find }: IssuerKeys,
  now: number,
): Promise<Claims> {
  try {
    return await verifyForeign(token, issuer, await find(issuer, false), now)
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) return asUnverifiable(error)
    return find(issuer, true)
      .then((keys) => verifyForeign(token, issuer, keys, now))
      .catch(asUnverifiable)
  }
}
