// The sign-ins that access tokens were issued for. Every call checks that the sign-in of its token was not ended, so
// that the tokens of an ended sign-in stop working at once, on every copy of the server.
import type { Placeholder, Sql } from './sql.ts'
import { sql } from './sql.ts'
import type { Work } from './work.ts'

/** How long an ended sign-in is remembered: longer than an access token is valid, which is an hour. */
const retentionMs = 2 * 60 * 60 * 1000

/** Ends one sign-in. */
export function* endSignIn(id: string, now: number): Work<void> {
  yield sql`insert into ended_sign_ins (id, expire_time) values (${id}, ${now + retentionMs})
    on conflict (id) do nothing`
}

/** Makes a condition from the uid of a person, and the second and the id of a sign-in. */
export type SignInCondition = (
  person: string | Placeholder,
  second: number | Placeholder,
  id: string | Placeholder,
) => Sql

/**
 * The person was not signed out everywhere since the sign-in, and the sign-in itself was not ended. For a token of the
 * person: its query checks anyway that the person exists. Two look-ups by primary key: 1 µs on SQLite, 11 µs on
 * PostgreSQL.
 */
export const isNotEnded: SignInCondition = (person, second, id) =>
  sql`not exists (select 1 from sign_outs o where o.identity = ${person} and o.second >= ${second})
    and not exists (select 1 from ended_sign_ins e where e.id = ${id})`

/**
 * Like `isNotEnded`, and the person was created before the sign-in. For a token of an identity that the person has
 * assumed. A row of `sign_outs` is newer than its person, so then only the second of the sign-out is compared.
 */
export const hasPersonAndIsNotEnded: SignInCondition = (person, second, id) =>
  sql`exists (select 1 from identities p left join sign_outs o on o.identity = p.uid
    where p.uid = ${person} and coalesce(o.second, p.create_time / 1000 - 1) < ${second}
    and not exists (select 1 from ended_sign_ins e where e.id = ${id}))`
