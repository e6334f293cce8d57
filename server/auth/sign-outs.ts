// Signing out everywhere. The store contains the time of the last sign-out, in whole seconds since 1970. Every session,
// code and token whose sign-in was in that second or earlier is invalid, even if it was issued after the sign-out.
import { Code } from '../aip/code.ts'
import { StatusError, unauthenticated } from '../aip/errors.ts'
import { parentOf } from '../aip/uid.ts'
import type { Store } from '../store/db.ts'
import { endSignIn } from '../store/sign-ins.ts'
import { sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
import type { SignIn } from '../wire/caller.ts'
import { lastProviderSignOut } from './provider-sign-outs.ts'
import { endOfTime, secondOf } from './sign-out-times.ts'

/** Ends every session, code and token of an identity, and the tokens that were issued in exchange for these. */
export function* signOutEverywhere(identity: string, now: number): Work<void> {
  yield sql`insert into sign_outs (identity, second) values (${identity}, ${secondOf(now)})
    on conflict (identity) do update set second = case
      when sign_outs.disabled_second is not null then sign_outs.second
      when excluded.second > sign_outs.second then excluded.second else sign_outs.second + 1 end`
  yield sql`delete from sign_in_states where identity = ${identity}`
  yield sql`delete from refresh_tokens where identity = ${identity}`
  yield sql`delete from sign_ins where identity = ${identity}`
}

/**
 * Signs a person out everywhere and refuses new sign-ins until `enablePerson`. Calls do not check whether the person is
 * disabled: each call compares its sign-in with the time of the last sign-out anyway, and `endOfTime` is later than
 * every sign-in.
 */
export function* disablePerson(identity: string, now: number): Work<void> {
  yield* signOutEverywhere(identity, now)
  yield sql`update sign_outs set disabled_second = second, second = ${endOfTime}
    where identity = ${identity} and disabled_second is null`
}

/** Sign-ins from before the person was disabled remain ended. */
export function* enablePerson(identity: string, now: number): Work<void> {
  yield sql`update sign_outs set disabled_second = null,
    second = case when disabled_second > ${secondOf(now)} then disabled_second else ${secondOf(now)} end
    where identity = ${identity} and disabled_second is not null`
}

const accountDisabled = () =>
  new StatusError(Code.PERMISSION_DENIED, 'this account is disabled; ask the operator of this server')

export function* requireEnabled(identity: string): Work<void> {
  const row = yield* first(
    sql`select 1 from sign_outs where identity = ${identity} and disabled_second is not null`,
  )
  if (row) throw accountDisabled()
}

/** Ends one sign-in with its codes, refresh tokens and access tokens. The access tokens contain `id`. */
export function* endOneSignIn(id: string, now: number): Work<void> {
  yield* endSignIn(id, now)
  yield sql`delete from sign_in_states where grant_id = ${id}`
  yield sql`delete from refresh_tokens where family = ${id}`
}

/**
 * The time to record for a sign-in at this moment, in seconds since 1970: later than the last sign-out, so that the
 * sign-in is valid. `provider` is the identity provider that the sign-in went through. Throws if the person is disabled,
 * or deactivated at the provider.
 */
export function* newSignInTime(identity: string, now: number, provider?: string): Work<number> {
  return Math.max(secondOf(now), (yield* lastSignOut(identity, provider)) + 1)
}

/** Whether a sign-in at this second is still valid. Throws if the person is disabled. */
export function* isAfterSignOut(identity: string, second: number): Work<boolean> {
  return second > (yield* lastSignOut(identity, undefined))
}

function* lastSignOut(identity: string, provider: string | undefined): Work<number> {
  const row = yield* first(sql`select second, disabled_second from sign_outs where identity = ${identity}`)
  const [signedOutAt, disabledAt] = (row ?? [-1, null]) as [number, number | null]
  if (disabledAt !== null) throw accountDisabled()
  const endedAt = provider === undefined ? -1 : yield* lastProviderSignOut(provider, identity)
  return Math.max(signedOutAt, endedAt)
}

/** How far the clock of another issuer may be behind ours, in seconds. */
export const issuerClockLag = 5

/**
 * Requires that a token of another issuer was issued after the last sign-out of the person: whoever has stolen a token
 * could otherwise sign in with it again. `issuedAt` is its claim `iat`, in seconds since 1970.
 */
export function* requireIssuedAfterSignOut(
  identity: string,
  issuedAt: number,
  provider?: string,
): Work<void> {
  if (issuedAt + issuerClockLag > (yield* lastSignOut(identity, provider))) return
  throw unauthenticated(
    'the token was issued before this person was last signed out; get a new token from its issuer',
    'error="invalid_token"',
  )
}

/**
 * A sign-in at this moment. It has no id, so only signing out everywhere ends it. Undefined for a workload, because
 * only people sign in. Throws if the person is disabled. `issuedAt` is the claim `iat` of the other issuer's token that
 * the person signs in with.
 */
export async function newSignIn(
  store: Store,
  identity: string,
  now: number,
  issuedAt?: number,
): Promise<SignIn | undefined> {
  if (parentOf(identity) !== '') return undefined
  const signedInAt = await store.read(function* () {
    if (issuedAt !== undefined) yield* requireIssuedAfterSignOut(identity, issuedAt)
    return yield* newSignInTime(identity, now)
  })
  return { person: identity, signedInAt, id: '' }
}
