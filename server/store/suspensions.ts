// While an identity provider has deactivated a person by SCIM, the person's role bindings at or below the group of that
// provider do not count, whatever sign-in or token is used. Otherwise the person could sign in with the same issuer
// through the provider of another organization, and use these bindings. Bindings elsewhere count,
// because several organizations can configure the same issuer.
import type { Sql } from './sql.ts'
import { sql } from './sql.ts'
import type { Work } from './work.ts'

/**
 * The condition that no provider suspends the bindings of a person in the group `b.parent`. Looks
 * up this group and each group above it (a segment of a uid has 17 characters, a root 40), and does
 * not read all suspensions of the person, because their number has no limit. A deleted provider
 * suspends nothing. `person` is a uid or a column.
 */
export const isNotSuspended = (person: string | Sql): Sql =>
  sql`not exists (with recursive up (uid) as (select b.parent union all
      select substr(up.uid, 1, length(up.uid) - 17) from up where length(up.uid) > 40)
    select 1 from up cross join provider_sign_outs s cross join identity_providers p
    where s.identity = ${person} and s.place = up.uid and p.uid = s.provider)`

/**
 * Locks a person whose suspensions change, so that concurrent changes run one after the other: otherwise
 * `updateSuspended` could overlook a suspension that another transaction has not committed yet.
 */
export function* lockPerson(person: string): Work<void> {
  yield sql`select uid from identities where uid = ${person} /*pg for no key update */`
}

/** Stores whether a person has suspensions. */
export function* updateSuspended(person: string): Work<void> {
  yield sql`update identities set suspended =
    (select max(1) from provider_sign_outs s where s.identity = identities.uid and s.place is not null)
    where uid = ${person}`
}
