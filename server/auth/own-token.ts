// A token of our own that is presented for another: its keys come from the store, never by a network call.
import type { JWTVerifyGetKey } from 'jose'
import { errors, jwtVerify } from 'jose'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Claims } from './foreign-token.ts'
import { asUnverifiable } from './foreign-token.ts'
import type { KeyRing } from './keys.ts'
import { signingAlgorithm } from './keys.ts'
import { tokenType } from './tokens.ts'

export type OwnTokenOptions = { store: Store; keys: KeyRing; authUrl: string; baseUrl: string; now(): number }

/** The claims of a token that we have issued to somebody who is still there. */
export type VerifyOwn = (bearer: string) => Promise<Claims>

/** After which keys that are not known are worth reading again. */
const reloadPause = 1000

export function openOwnTokens({ store, keys, authUrl, baseUrl, now }: OwnTokenOptions): VerifyOwn {
  let reloaded = 0

  const findKey: JWTVerifyGetKey = async ({ kid = '' }) => {
    if (!keys.findSigning(kid) && now() - reloaded > reloadPause) {
      reloaded = now()
      await keys.reload()
    }
    const key = keys.findSigning(kid)
    if (!key) throw new errors.JWKSNoMatchingKey()
    return key.publicKey
  }

  return async (bearer) => {
    const { payload } = await jwtVerify(bearer, findKey, {
      // One for the registry alone is good for nothing else.
      ...{ issuer: authUrl, audience: [baseUrl, authUrl], typ: tokenType, algorithms: [signingAlgorithm] },
      requiredClaims: ['exp', 'iat', 'sub', 'aud'],
      currentDate: new Date(now()),
    }).catch(asUnverifiable)
    const [row] = await store.query(sql`select create_time from identities where uid = ${payload.sub ?? ''}`)
    if (!row || Math.floor((row[0] as number) / 1000) > (payload.iat ?? 0))
      return asUnverifiable('its bearer is gone')
    return payload as Claims
  }
}
