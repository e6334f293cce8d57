// Verifies the access token of a call.
import { constant, unauthenticated } from '../../aip/errors.ts'
import type { Caller } from '../../wire/caller.ts'
import type { MaybePromise } from '../../wire/maybe-promise.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { tokenType } from './token-type.ts'
import type { TokenParties } from './verified-headers.ts'
import { callerOf, openVerifiedHeaders } from './verified-headers.ts'

/** Returns the caller that an Authorization header names, or throws. Synchronous if the header was verified before. */
export type Authenticate = (authorization: string | undefined) => MaybePromise<Caller>

export type Authenticator = {
  authenticate: Authenticate
  /** The caller of a header that was verified before. */
  findCaller(authorization: string): Caller | undefined
}

export function openAuthenticator(keys: KeyRing, parties: TokenParties, now: () => number): Authenticator {
  const { find, verify } = openVerifiedHeaders(
    keys,
    { parties, type: tokenType, requiredClaims: ['sub', 'exp', 'iat'], read: callerOf },
    now,
  )
  return {
    authenticate(authorization) {
      if (authorization === undefined) throw missingToken
      return find(authorization) ?? verify(authorization)
    },
    findCaller: find,
  }
}

const missingToken = constant(
  unauthenticated('this call needs the header Authorization: Bearer <access token>'),
)
