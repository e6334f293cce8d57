// Ends sign-ins that went through one identity provider. An organization provisions its people by SCIM and can thereby
// end their sign-ins through its own provider, but no others: people also belong to other organizations, and several
// organizations can configure the same issuer. While a person is blocked, their roles in the group of the provider and
// below do not count (see store/suspensions.ts). The column `second` is the time of the last
// sign-out. While the person is blocked, it is `endOfTime`, `disabled_second` is when they were
// blocked, and `place` is the group of the provider.
import { Code } from '../aip/code.ts'
import { StatusError } from '../aip/errors.ts'
import { parentOf } from '../aip/uid.ts'
import { deleteSignInsThrough } from '../store/sign-ins.ts'
import { bulkInsert, raw, sql } from '../store/sql.ts'
import { lockPerson, updateSuspended } from '../store/suspensions.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
import { endOfTime, secondOf } from './sign-out-times.ts'

/**
 * Ends every sign-in of a person through a provider, including its sessions, codes and tokens.
 * Refuses new sign-ins until `allowAtProvider`.
 */
export function* blockAtProvider(provider: string, identity: string, now: number): Work<void> {
  yield* lockPerson(identity)
  yield* writeBlocks([provider], identity, now)
  yield* deleteSignInsThrough(provider, identity)
}

/** Blocks a person at several providers. Sign-ins are not deleted: a new person has none. */
export function* writeBlocks(providers: readonly string[], identity: string, now: number): Work<void> {
  yield bulkInsert(
    raw('insert into provider_sign_outs (identity, provider, second, disabled_second, place)'),
    providers.map((provider) => [identity, provider, endOfTime, secondOf(now), parentOf(provider)]),
    raw(`on conflict (identity, provider) do update set second = excluded.second, place = excluded.place, disabled_second = case
      when provider_sign_outs.disabled_second is not null then provider_sign_outs.disabled_second
      when excluded.disabled_second > provider_sign_outs.second then excluded.disabled_second
      else provider_sign_outs.second + 1 end`),
  )
  yield* updateSuspended(identity)
}

/** Sign-ins from before the person was blocked remain ended. */
export function* allowAtProvider(provider: string, identity: string, now: number): Work<void> {
  yield* lockPerson(identity)
  yield sql`update provider_sign_outs set disabled_second = null, place = null,
    second = case when disabled_second > ${secondOf(now)} then disabled_second else ${secondOf(now)} end
    where identity = ${identity} and provider = ${provider} and disabled_second is not null`
  yield* updateSuspended(identity)
}

/** The time of the last sign-out, in seconds since 1970; -1 if there was none. Throws if the person is blocked. */
export function* lastProviderSignOut(provider: string, identity: string): Work<number> {
  const row = yield* first(sql`select second, disabled_second from provider_sign_outs
    where identity = ${identity} and provider = ${provider}`)
  const [second, disabledAt] = (row ?? [-1, null]) as [number, number | null]
  if (disabledAt !== null) throw accountDeactivated()
  return second
}

export const accountDeactivated = () =>
  new StatusError(
    Code.PERMISSION_DENIED,
    'your organization has deactivated this account; ask its administrator',
  )

export const notProvisioned = () =>
  new StatusError(
    Code.PERMISSION_DENIED,
    'your organization has not given this account access yet; ask its administrator',
  )
