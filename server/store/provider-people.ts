// The people who have signed in through an identity provider.
import { removeMembersOf } from './external-groups.ts'
import { lockScimSettings } from './scim-settings.ts'
import { deleteSignInBatch } from './sign-ins.ts'
import { among, bulkInsert, raw, sql } from './sql.ts'
import type { Work } from './work.ts'
import { all } from './work.ts'

/** In seconds since 1970. `end` is the latest time at which the last batch can be separated. */
export type SeparationTimes = { now: number; end: number }

/**
 * Separates people from a provider whose issuer changes, because the new issuer may give their ids to other people:
 * somebody could change the issuer, sign in as others, change it back and keep their roles. Sign-ins through the
 * provider end, SCIM users have no identity until the next sign-in, and all lose the roles of external groups. A person
 * who has neither a SCIM user nor a session nor a refresh token is not found here: their access token stays valid until
 * it expires, for an hour at most.
 *
 * Separates a batch, and returns whether there may be more. The transaction that changes the issuer must separate the
 * last batch. Until then people can sign in again. If they get a session, a refresh token or a
 * membership, a later batch finds it; if they get only an access token, none does. So for the
 * people of every batch but the last, all sign-ins up to `end` are ended.
 */
export function* separatePeople(provider: string, times: SeparationTimes): Work<boolean> {
  // Serializes this with SCIM requests and sign-ins, as for a deletion.
  yield* lockScimSettings(provider)
  // Users come first: people without a linked user get no further memberships from SCIM.
  const users = yield* unlinkUsers(provider)
  const signIns = users.hasMore ? undefined : yield* deleteSignInBatch(provider, batchSize)
  const hasMore = users.hasMore || signIns?.hasMore || (yield* removeMembersOf(provider))
  const people = new Set([...users.people, ...(signIns?.people ?? [])])
  yield* signOut(provider, [...people].sort(), hasMore ? times.end : times.now)
  return hasMore
}

/** SCIM users, sessions or refresh tokens that one transaction separates. */
const batchSize = 500

function* unlinkUsers(provider: string): Work<{ people: string[]; hasMore: boolean }> {
  const rows = yield* all(sql`select uid, identity from scim_users
    where provider = ${provider} and identity > '' limit ${batchSize}`)
  const uids = rows.map(([uid]) => uid as string)
  if (uids.length > 0) yield sql`update scim_users set identity = null where uid in ${among(uids)}`
  return { people: rows.map(([, identity]) => identity as string), hasMore: rows.length === batchSize }
}

function* signOut(provider: string, people: readonly string[], second: number): Work<void> {
  if (people.length === 0) return
  yield bulkInsert(
    raw('insert into provider_sign_outs (identity, provider, second)'),
    people.map((identity) => [identity, provider, second]),
    raw(`on conflict (identity, provider) do update set second = case
      when provider_sign_outs.second > excluded.second then provider_sign_outs.second else excluded.second end`),
  )
}
