// Verifies the tokens that this server has issued, in Authorization headers. Verifying a signature takes longer than the
// rest of a call, so verified headers are cached until they expire.
import type { JWTPayload } from 'jose'
import { decodeProtectedHeader, errors, jwtVerify } from 'jose'
import type { StatusError } from '../../aip/errors.ts'
import { constant } from '../../aip/errors.ts'
import { isUid } from '../../aip/uid.ts'
import { BoundedMap } from '../../bounded-map.ts'
import type { Caller } from '../../wire/caller.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { openKeyFinder } from '../keys/key-ring.ts'
import { invalidToken } from './invalid-token.ts'
import { signInOf } from './sign-in-claim.ts'
import { limitsOf } from './token-limits.ts'

const maxTokenLength = 16 * 1024
const maxCachedHeaders = 10_000

export type TokenParties = { issuer: string; audience: string | string[] }

export type TokenRules<T> = {
  parties: TokenParties
  /** The `typ` of the tokens, which distinguishes the kinds of tokens that this server issues. */
  type: string
  requiredClaims: string[]
  /** Makes the result of a verification from the claims of the token. The result is cached. */
  read(payload: JWTPayload): T
  /** The error for a token with another audience; by default the one for an invalid token. */
  wrongAudience?(text: string): StatusError
}

export type VerifiedHeaders<T> = {
  /** The cached result for a header that was verified before. `time` is when the token must be valid; by default now. */
  find(authorization: string, time?: number): T | undefined
  verify(authorization: string, time?: number): Promise<T>
}

type Verified<T> = { authorization: string; value: T; expires: number; kid: string }

export function openVerifiedHeaders<T>(
  keys: KeyRing,
  rules: TokenRules<T>,
  now: () => number,
): VerifiedHeaders<T> {
  const { parties, type, requiredClaims, read } = rules
  const verified = new BoundedMap<string, Verified<T>>(maxCachedHeaders)
  const findKey = openKeyFinder(keys, now)
  return {
    /** Compares the whole header, since the cache key is only its end. An entry is invalid once its signing key is revoked. */
    find(authorization, time = now()) {
      const entry = verified.get(cacheKeyOf(authorization))
      if (entry?.authorization !== authorization) return undefined
      if (entry.expires > time && keys.findSigning(entry.kid)) return entry.value
      verified.delete(cacheKeyOf(authorization))
      return undefined
    },
    async verify(authorization, time = now()) {
      const token = bearerOf(authorization)
      const kid = keyIdOf(token)
      const key = await findKey(kid)
      if (!key) throw foreignToken
      const { payload } = await jwtVerify(token, key.publicKey, {
        ...parties,
        algorithms: [key.algorithm],
        typ: type,
        requiredClaims,
        currentDate: new Date(time),
      }).catch((error: unknown) => {
        throw explain(error, rules)
      })
      const value = read(payload)
      verified.set(cacheKeyOf(authorization), { authorization, value, expires: expiryOf(payload), kid })
      return value
    },
  }
}

/** In milliseconds since 1970. */
export const expiryOf = ({ exp = 0 }: JWTPayload): number => exp * 1000

const malformedHeader = constant(invalidToken('the Authorization header must be Bearer <access token>'))
const malformedToken = constant(invalidToken('the token is not a JSON Web Token'))
const foreignToken = constant(invalidToken('the token was not signed by this service'))

/** The end of the signature, 32 bytes of it: as unique as the whole header, and faster to hash. */
const cacheKeyOf = (authorization: string) => authorization.slice(-43)

/** Whether the text can be a token in an Authorization header. */
export const isToken = (text: string) => /^ *[A-Za-z0-9._~+/=-]+ *$/.test(text)

export function bearerOf(authorization: string): string {
  const [, token] = /^Bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(authorization) ?? []
  if (token === undefined || token.length > maxTokenLength) throw malformedHeader
  return token
}

function keyIdOf(token: string): string {
  try {
    return decodeProtectedHeader(token).kid ?? ''
  } catch {
    throw malformedToken
  }
}

/** The caller whom a verified token names. */
export function callerOf(payload: JWTPayload): Caller {
  const { sub = '', iat = 0 } = payload
  if (typeof sub !== 'string' || !isUid(sub))
    throw invalidToken('the subject of the token is not the uid of an identity')
  const limits = limitsOf(payload)
  const signIn = signInOf(payload)
  return {
    ...{ identity: sub, issuedAt: iat, expires: expiryOf(payload) },
    ...(signIn && { signIn }),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(isObject(payload.act) && { act: shownClaims({ ...payload.act, email: payload.email }) }),
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Claims of foreign tokens can be long, and each event contains them. */
const maxClaimLength = 512

const shownClaims = (claims: object) =>
  Object.fromEntries(
    Object.entries(claims).flatMap(([name, value]) =>
      typeof value === 'string' && value !== '' ? [[name, value.slice(0, maxClaimLength)]] : [],
    ),
  )

function explain<T>(error: unknown, { parties, wrongAudience = invalidToken }: TokenRules<T>) {
  if (error instanceof errors.JWTExpired) return invalidToken('the token has expired; get a new one')
  if (error instanceof errors.JWTClaimValidationFailed) {
    return error.claim === 'aud'
      ? wrongAudience(`the audience of the token must be ${[parties.audience].flat().join(' or ')}`)
      : invalidToken(`the claim ${error.claim} of the token is not valid`)
  }
  if (error instanceof errors.JOSEError) return invalidToken('the token is not valid')
  return error
}
