// Verifies one of our own access tokens or id tokens that is presented in an exchange. The keys are in the store, so no
// request is sent.
import type { JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import { errors, jwtVerify } from 'jose'
import type { Claims } from '../../claims/match.ts'
import type { Store } from '../../store/db.ts'
import { conditionFor } from '../../store/sign-ins.ts'
import { raw, sql } from '../../store/sql.ts'
import type { SignIn } from '../../wire/caller.ts'
import { throwUnverifiable } from '../foreign-tokens/unverifiable.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { openKeyFinder } from '../keys/key-ring.ts'
import { idTokenAlgorithm } from '../keys/signing-key.ts'
import { signInOf } from './sign-in-claim.ts'
import { tokenType, typeOf } from './token-type.ts'

export type VerifyOwnDependencies = {
  store: Store
  keys: KeyRing
  authUrl: string
  /** An access token must be for one of these. */
  audiences: readonly string[]
  /** An id token must be for one of these clients. If undefined, id tokens are refused. */
  clients?: readonly string[]
  now(): number
}

/** Returns the claims of a token that we issued to an identity that still exists, in a sign-in that was not ended. */
export type VerifyOwn = (token: string) => Promise<Claims>

export function openVerifyOwn(deps: VerifyOwnDependencies): VerifyOwn {
  const { store, keys, authUrl, now } = deps
  const findKey = openKeyFinder(keys, now)

  const getKey: JWTVerifyGetKey = async ({ kid = '' }) => {
    const key = await findKey(kid)
    if (!key) throw new errors.JWKSNoMatchingKey()
    return key.publicKey
  }

  return async (token) => {
    const isIdToken = typeOf(token) === undefined
    const { payload } = await jwtVerify(token, getKey, {
      ...rulesFor(deps, isIdToken),
      ...{ issuer: authUrl, currentDate: new Date(now()) },
    }).catch(throwUnverifiable)
    const signIn = signInOf(payload)
    const signInCondition = signIn ? isValid(signIn) : raw('1 = 1')
    const [row] = await store.query(
      sql`select create_time from identities where uid = ${payload.sub ?? ''} and ${signInCondition}`,
    )
    // If an identity was deleted and created again with the same uid, tokens from before are refused.
    if (!row || Math.floor((row[0] as number) / 1000) > (payload.iat ?? 0))
      return throwUnverifiable('its identity was deleted, or its sign-in was ended')
    // The clients belong to this server, so an id token for one of them counts as a token for this server.
    const { aud } = isIdToken ? { aud: authUrl } : payload
    return { ...payload, aud } as Claims // iss, sub and aud were required above
  }
}

const isValid = ({ person, signedInAt, id, provider }: SignIn) =>
  conditionFor(false, provider !== undefined)(person, signedInAt, id, provider ?? '')

const requiredClaims = ['exp', 'iat', 'sub', 'aud']

/**
 * Only an id token has no type. It must contain the claim `sign_in`, so that it cannot be exchanged after its sign-in has
 * ended.
 */
function rulesFor({ audiences, clients }: VerifyOwnDependencies, isIdToken: boolean): JWTVerifyOptions {
  if (isIdToken && clients)
    return {
      ...{ audience: [...clients], algorithms: [idTokenAlgorithm] },
      requiredClaims: [...requiredClaims, 'sign_in'],
    }
  return { audience: [...audiences], typ: tokenType, algorithms: ['RS256', 'ES256'], requiredClaims }
}
