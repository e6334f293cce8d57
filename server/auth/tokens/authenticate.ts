// Verifies the access token of a call.
import type { JWTPayload } from 'jose'
import { decodeProtectedHeader, errors, jwtVerify } from 'jose'
import { constant, unauthenticated } from '../../aip/errors.ts'
import { isUid } from '../../aip/uid.ts'
import { BoundedMap } from '../../bounded-map.ts'
import type { Caller } from '../../wire/caller.ts'
import type { MaybePromise } from '../../wire/maybe-promise.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { openKeyFinder } from '../keys/key-ring.ts'
import { invalidToken } from './invalid-token.ts'
import { signInOf } from './sign-in-claim.ts'
import { limitsOf } from './token-limits.ts'
import { tokenType } from './token-type.ts'

const maxTokenLength = 16 * 1024
const maxCachedHeaders = 10_000

export type TokenParties = { issuer: string; audience: string | string[] }

/** Returns the caller that an Authorization header names, or throws. Synchronous if the header was verified before. */
export type Authenticate = (authorization: string | undefined) => MaybePromise<Caller>

type Verified = { authorization: string; caller: Caller; expires: number; kid: string }

/** Verifying a signature takes longer than the rest of a call, so verified headers are cached until they expire. */
export function openAuthenticator(keys: KeyRing, parties: TokenParties, now: () => number): Authenticate {
  const verified = new BoundedMap<string, Verified>(maxCachedHeaders)
  const findKey = openKeyFinder(keys, now)

  /** Compares the whole header, since the cache key is only its end. An entry is invalid once its signing key is revoked. */
  function findVerified(authorization: string): Caller | undefined {
    const entry = verified.get(cacheKeyOf(authorization))
    if (entry?.authorization !== authorization) return undefined
    if (entry.expires > now() && keys.findSigning(entry.kid)) return entry.caller
    verified.delete(cacheKeyOf(authorization))
    return undefined
  }

  async function verify(authorization: string): Promise<Caller> {
    const token = bearerOf(authorization)
    const kid = keyIdOf(token)
    const key = await findKey(kid)
    if (!key) throw foreignToken
    const { payload } = await jwtVerify(token, key.publicKey, {
      ...parties,
      algorithms: [key.algorithm],
      typ: tokenType,
      requiredClaims: ['sub', 'exp', 'iat'],
      currentDate: new Date(now()),
    }).catch((error: unknown) => {
      throw explain(error, parties)
    })
    const caller = callerOf(payload)
    const entry = { authorization, caller, expires: (payload.exp ?? 0) * 1000, kid }
    verified.set(cacheKeyOf(authorization), entry)
    return caller
  }

  return (authorization) => {
    if (authorization === undefined) throw missingToken
    return findVerified(authorization) ?? verify(authorization)
  }
}

const missingToken = constant(
  unauthenticated('this call needs the header Authorization: Bearer <access token>'),
)
const malformedHeader = constant(invalidToken('the Authorization header must be Bearer <access token>'))
const malformedToken = constant(invalidToken('the token is not a JSON Web Token'))
const foreignToken = constant(invalidToken('the token was not signed by this service'))

/** The end of the signature, 32 bytes of it: as unique as the whole header, and faster to hash. */
const cacheKeyOf = (authorization: string) => authorization.slice(-43)

function bearerOf(authorization: string): string {
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

function callerOf(payload: JWTPayload): Caller {
  const { sub = '', iat = 0 } = payload
  if (typeof sub !== 'string' || !isUid(sub))
    throw invalidToken('the subject of the token is not the uid of an identity')
  const limits = limitsOf(payload)
  const signIn = signInOf(payload)
  return {
    ...{ identity: sub, issuedAt: iat },
    ...(signIn && { signIn }),
    ...(Object.keys(limits).length > 0 && { limits }),
  }
}

function explain(error: unknown, { audience }: TokenParties) {
  if (error instanceof errors.JWTExpired) return invalidToken('the token has expired; get a new one')
  if (error instanceof errors.JWTClaimValidationFailed) {
    return error.claim === 'aud'
      ? invalidToken(`the audience of the token must be ${audience}`)
      : invalidToken(`the claim ${error.claim} of the token is not valid`)
  }
  if (error instanceof errors.JOSEError) return invalidToken('the token is not valid')
  return error
}
