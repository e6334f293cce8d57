// The sign-ins that access tokens were issued for. Every call checks that the sign-in of its token was not ended, so
// that the tokens of an ended sign-in stop working at once, on every copy of the server.
import type { Placeholder, Sql } from './sql.ts'
import { among, raw, sql } from './sql.ts'
import type { Work } from './work.ts'
import { all } from './work.ts'

/** How long an ended sign-in is remembered: longer than an access token is valid, which is an hour. */
const retentionMs = 2 * 60 * 60 * 1000

/** Ends one sign-in, and deletes its record (auth/sign-in-records.ts). */
export function* endSignIn(id: string, now: number): Work<void> {
  yield sql`insert into ended_sign_ins (id, expire_time) values (${id}, ${now + retentionMs})
    on conflict (id) do nothing`
  yield sql`delete from sign_ins where id = ${id}`
}

/** Deletes the sessions, codes, refresh tokens and records of sign-ins of one identity through a provider. */
export function* deleteSignInsThrough(provider: string, identity: string): Work<void> {
  const these = sql`identity = ${identity} and provider = ${provider}`
  yield sql`delete from sign_ins where id in (
    select grant_id from sign_in_states where ${these} and grant_id is not null
    union select session_uid from sign_in_states where ${these} and session_uid is not null
    union select family from refresh_tokens where ${these})`
  yield sql`delete from sign_in_states where ${these}`
  yield sql`delete from refresh_tokens where ${these}`
}

/**
 * Deletes up to `limit` sessions and codes, and as many refresh tokens, of all sign-ins through a provider, with the
 * records of these sign-ins. Returns the people who had signed in, and whether there may be more.
 */
export function* deleteSignInBatch(
  provider: string,
  limit: number,
): Work<{ people: string[]; hasMore: boolean }> {
  const states = yield* all(sql`select id, identity, grant_id, session_uid from sign_in_states
    where provider = ${provider} limit ${limit}`)
  const tokens = yield* all(sql`select id, identity, family from refresh_tokens
    where provider = ${provider} limit ${limit}`)
  for (const [table, rows] of [
    ['sign_in_states', states],
    ['refresh_tokens', tokens],
  ] as const) {
    const records = rows.flatMap(([, , ...ids]) => ids.filter((id) => id !== null))
    if (records.length > 0) yield sql`delete from sign_ins where id in ${among(records)}`
    const ids = rows.map(([id]) => id ?? null)
    if (ids.length > 0) yield sql`delete from ${raw(table)} where id in ${among(ids)}`
  }
  const identities = [...states, ...tokens].map(([, identity]) => identity)
  return {
    people: identities.filter((identity) => typeof identity === 'string'),
    hasMore: states.length === limit || tokens.length === limit,
  }
}

/** Makes the SQL condition that a sign-in is valid, from its fields (see `SignIn` in wire/caller.ts). */
export type SignInCondition = (
  person: string | Placeholder,
  signedInAt: number | Placeholder,
  id: string | Placeholder,
  provider: string | Placeholder,
) => Sql

/**
 * The number of fields that a condition uses. The last one, `provider`, is used only in conditions
 * for sign-ins through a provider.
 */
export const fieldCountOf = (condition: SignInCondition) => condition.length

/**
 * The person was not signed out everywhere since the sign-in, and the sign-in itself was not ended. This condition is
 * for tokens of the person: the query that contains it already reads the row of the person. It makes two look-ups by
 * primary key, which take 1 µs on SQLite and 11 µs on PostgreSQL.
 */
export const isNotEnded: SignInCondition = (person, signedInAt, id) =>
  sql`not exists (select 1 from sign_outs o where o.identity = ${person} and o.second >= ${signedInAt})
    and not exists (select 1 from ended_sign_ins e where e.id = ${id})`

/**
 * The same as `isNotEnded`, and the person exists and was created before the sign-in. This condition is for tokens of
 * an identity that the person has assumed. A sign-out is always later than the creation of the person, so if there is a
 * sign-out, only its time is compared with the sign-in.
 */
export const hasPersonAndIsNotEnded: SignInCondition = (person, signedInAt, id) =>
  sql`exists (select 1 from identities p left join sign_outs o on o.identity = p.uid
    where p.uid = ${person} and coalesce(o.second, p.create_time / 1000 - 1) < ${signedInAt}
    and not exists (select 1 from ended_sign_ins e where e.id = ${id}))`

/** `isNotEnded` for a sign-in through an identity provider: the provider has not deactivated the person since then. */
export const isNotEndedByProvider: SignInCondition = (person, signedInAt, id, provider) =>
  sql`${isNotEnded(person, signedInAt, id, provider)} and ${isAllowedByProvider(person, signedInAt, provider)}`

/** `hasPersonAndIsNotEnded` for a sign-in through an identity provider. */
export const hasPersonAndIsNotEndedByProvider: SignInCondition = (person, signedInAt, id, provider) =>
  sql`${hasPersonAndIsNotEnded(person, signedInAt, id, provider)}
    and ${isAllowedByProvider(person, signedInAt, provider)}`

const isAllowedByProvider = (
  person: string | Placeholder,
  signedInAt: number | Placeholder,
  provider: string | Placeholder,
) => sql`not exists (select 1 from provider_sign_outs q
    where q.identity = ${person} and q.provider = ${provider} and q.second >= ${signedInAt})`

/** The condition for a sign-in. `isOwn`: the token is for the person, not for an identity that they have assumed. */
export function conditionFor(isOwn: boolean, hasProvider: boolean): SignInCondition {
  if (hasProvider) return isOwn ? isNotEndedByProvider : hasPersonAndIsNotEndedByProvider
  return isOwn ? isNotEnded : hasPersonAndIsNotEnded
}
