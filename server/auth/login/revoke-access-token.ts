// Revocation of an access token (RFC 7009). An access token is not stored, so revoking it ends its sign-in, as section
// 2.1 permits: all access tokens and refresh tokens of the sign-in stop working with the next call, on every copy.
import { Code } from '../../aip/code.ts'
import { StatusError } from '../../aip/errors.ts'
import type { Claims } from '../../claims/match.ts'
import type { Store } from '../../store/db.ts'
import type { SignIn } from '../../wire/caller.ts'
import { endOneSignIn } from '../sign-outs.ts'
import { signInOf } from '../tokens/sign-in-claim.ts'
import type { VerifyOwn } from '../tokens/verify-own.ts'
import type { PageEvent, PageLog } from './page-log.ts'
import type { PageRequest, PageResponse } from './page-request.ts'

export type RevocationDependencies = {
  store: Store
  /** Verifies an access token that this server issued, for any audience. */
  verifyForAnyAudience: VerifyOwn
  pageLog: PageLog
  now(): number
}

/** Possession of the token suffices, as with refresh tokens: our clients are public, so a client id proves nothing. */
export async function revokeAccessToken(
  { store, verifyForAnyAudience, pageLog, now }: RevocationDependencies,
  token: string,
  page: PageRequest,
): Promise<PageResponse> {
  const claims = await verifyForAnyAudience(token).catch(undefinedIfInvalid)
  // A token that is not valid needs no revocation (RFC 7009, section 2.2).
  if (!claims) return { json: {} }
  const signIn = revocableSignIn(claims)
  if (!signIn) return unsupported
  await store.write(function* () {
    yield* endOneSignIn(signIn.id, now())
    yield* pageLog.record(page, revocationOf(signIn.person, signIn.provider))
  })
  return { json: {} }
}

/** The event of a revoked token, which ends its sign-in. */
export const revocationOf = (identity: string, provider: string | undefined): PageEvent => ({
  ...{ method: 'oauth/revoke', action: 'signed-out', identity, provider, details: { by: 'revocation' } },
})

function undefinedIfInvalid(error: unknown): undefined {
  if (!(error instanceof StatusError) || error.code !== Code.UNAUTHENTICATED) throw error
}

/**
 * The sign-in that a token may end: its own, if it is an unlimited token of the person. The holder of a limited token,
 * or of a token of an identity that the person has assumed, must not be able to sign the person out.
 */
function revocableSignIn(claims: Claims): SignIn | undefined {
  const signIn = signInOf(claims)
  const mayEndSignIn =
    claims.sub === signIn?.person && claims.scopes === undefined && claims.cap === undefined
  return mayEndSignIn && signIn.id !== '' ? signIn : undefined
}

/** RFC 7009, section 2.2.1. */
const unsupported: PageResponse = {
  status: 400,
  json: {
    error: 'unsupported_token_type',
    error_description:
      'only refresh tokens and unlimited access tokens of signed-in people can be revoked; this token is valid until it expires',
  },
}
