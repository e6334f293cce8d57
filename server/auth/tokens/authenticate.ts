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

export function openAuthenticator(keys: KeyRing, parties: TokenParties, now: () => number): Authenticate {
  const { find, verify } = openVerifiedHeaders(
    keys,
    { parties, type: tokenType, requiredClaims: ['sub', 'exp', 'iat'], read: callerOf },
    now,
  )
  return (authorization) => {
    if (authorization === undefined) throw missingToken
    return find(authorization) ?? verify(authorization)
  }
}

const missingToken = constant(
  unauthenticated('this call needs the header Authorization: Bearer <access token>'),
)
