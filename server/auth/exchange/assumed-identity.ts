// Shared by the ways to assume an identity (by token, provider or AWS): dependencies, result and
// refusal.
import { fromBinary } from '@bufbuild/protobuf'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { Code } from '../../aip/code.ts'
import { StatusError } from '../../aip/errors.ts'
import { isUid } from '../../aip/uid.ts'
import type { Claims } from '../../claims/match.ts'
import type { Matcher } from '../../claims/matcher.ts'
import type { Store } from '../../store/db.ts'
import { sql } from '../../store/sql.ts'
import type { SignIn, TokenLimits } from '../../wire/caller.ts'
import type { IssuerKeys } from '../foreign-tokens/issuer-keys.ts'
import type { People } from '../login/people.ts'
import type { VerifyOwn } from '../tokens/verify-own.ts'
import type { CallAws } from './aws-request.ts'
import type { StaticKeys } from './static-keys.ts'

export type AssumeDependencies = {
  store: Store
  verifyOwn: VerifyOwn
  issuerKeys: IssuerKeys
  callAws: CallAws
  authUrl: string
  now(): number
  /** The audiences by which a token may name this server. */
  ownAudiences: readonly string[]
  matcher: Matcher
  people: Pick<People, 'ensureProvided' | 'refusingProviders'>
  staticKeys: StaticKeys
}

export type RequestedIdentity = {
  /** The uid of the identity to assume; empty for the one that the token itself belongs to. */
  identity: string
  /** The uid of an identity provider: the token must be for its client. Empty for any provider. */
  identityProvider: string
  /**
   * Whether the credential may be a pull token, which is verified with static keys and may be used
   * until they expire. Other tokens must not be older than a day.
   */
  mayBePullToken?: boolean
}

/** An identity that the caller may assume. */
export type AssumedIdentity = {
  identity: string
  email: string | undefined
  /** The token that was presented (RFC 8693, 4.1). */
  act: { iss: string; sub: string; aud: string }
  /** The limits of the new token. The caller may request further ones. */
  limits: TokenLimits
  /**
   * If this server issued the presented token: the sign-in of that token. Otherwise a new sign-in for a person, and
   * undefined for a workload.
   */
  signIn: SignIn | undefined
  /** When the new token expires, in seconds since 1970. */
  expires: number
  /** When the credential that was presented expires, in seconds since 1970. */
  credentialExpires: number
}

/**
 * By default, the caller gets the same error whether the identity is unknown or does not accept the
 * credential. `cause` is for the log.
 */
export const refused = (cause: string, text = 'no identity can be assumed with this token') =>
  new StatusError(Code.PERMISSION_DENIED, text, { cause: new Error(cause) })

export async function loadIdentity(store: Store, uid: string): Promise<Identity> {
  const [row] = isUid(uid) ? await store.query(sql`select proto from identities where uid = ${uid}`) : []
  if (!row) throw refused(`there is no identity ${uid.slice(0, 200)}`)
  return fromBinary(IdentitySchema, row[0] as Uint8Array)
}

/** The claim `act` for a token that was presented. */
export const actOf = ({ iss, sub, aud }: Claims): AssumedIdentity['act'] => ({
  ...{ iss, sub, aud: [aud].flat().join(',') },
})
