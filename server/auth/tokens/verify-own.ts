// Verifies one of our own tokens that is presented in an exchange. The keys are in the store, so no request is sent.
import type { JWTVerifyGetKey } from 'jose'
import { errors, jwtVerify } from 'jose'
import type { Claims } from '../../claims/match.ts'
import type { Store } from '../../store/db.ts'
import { conditionFor } from '../../store/sign-ins.ts'
import { raw, sql } from '../../store/sql.ts'
import type { SignIn } from '../../wire/caller.ts'
import { throwUnverifiable } from '../foreign-tokens/unverifiable.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { openKeyFinder } from '../keys/key-ring.ts'
import { tokenType } from './mint.ts'
import { signInOf } from './sign-in-claim.ts'

export type VerifyOwnDependencies = {
  store: Store
  keys: KeyRing
  authUrl: string
  /** The token must be for one of these. */
  audiences: readonly string[]
  now(): number
}

/** Returns the claims of a token that we issued to an identity that still exists, in a sign-in that was not ended. */
export type VerifyOwn = (token: string) => Promise<Claims>

export function openVerifyOwn({ store, keys, authUrl, audiences, now }: VerifyOwnDependencies): VerifyOwn {
  const findKey = openKeyFinder(keys, now)

  const getKey: JWTVerifyGetKey = async ({ kid = '' }) => {
    const key = await findKey(kid)
    if (!key) throw new errors.JWKSNoMatchingKey()
    return key.publicKey
  }

  return async (token) => {
    const { payload } = await jwtVerify(token, getKey, {
      ...{ issuer: authUrl, audience: [...audiences], typ: tokenType, algorithms: ['RS256', 'ES256'] },
      requiredClaims: ['exp', 'iat', 'sub', 'aud'],
      currentDate: new Date(now()),
    }).catch(throwUnverifiable)
    const signIn = signInOf(payload)
    const signInCondition = signIn ? isValid(signIn) : raw('1 = 1')
    const [row] = await store.query(
      sql`select create_time from identities where uid = ${payload.sub ?? ''} and ${signInCondition}`,
    )
    // If an identity was deleted and created again with the same uid, tokens from before are refused.
    if (!row || Math.floor((row[0] as number) / 1000) > (payload.iat ?? 0))
      return throwUnverifiable('its identity was deleted, or its sign-in was ended')
    return payload as Claims // iss, sub and aud were required above
  }
}

const isValid = ({ person, signedInAt, id, provider }: SignIn) =>
  conditionFor(false, provider !== undefined)(person, signedInAt, id, provider ?? '')
