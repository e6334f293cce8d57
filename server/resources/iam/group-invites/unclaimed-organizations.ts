// Organizations whose future owner has not accepted the invite yet. Nobody has a role in them, so
// nobody could delete them: a creator may have only a limited number, and those whose invite has
// expired are deleted.
import { tooManyRequests } from '../../../aip/errors.ts'
import type { Sql } from '../../../store/sql.ts'
import { sql } from '../../../store/sql.ts'
import { readForDelete } from '../../../store/table.ts'
import { contentsOf } from '../../../store/tally.ts'
import type { Work } from '../../../store/work.ts'
import { all, first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { removeEntry } from '../../delete.ts'
import { removeWhere } from '../../remove-where.ts'
import { groups } from '../groups/table.ts'
import { groupInvites } from './table.ts'

/** Without a limit, one caller could fill the store with organizations. */
const maxUnclaimed = 100

/**
 * Requires that the creator may have one more unclaimed organization. Those that were claimed do
 * not count, and those that have expired are deleted first.
 */
export function* requireFewUnclaimed(access: WriteAccess, creator: string, now: number): Work<void> {
  // On PostgreSQL, concurrent calls of one creator wait here, so each counts the organizations of the calls before it.
  yield sql`select uid from identities where uid = ${creator} /*pg for no key update */`
  yield sql`delete from unclaimed_organizations where creator = ${creator}
    and exists (select 1 from role_bindings b where b.root = organization)`
  const expired = yield* all(sql`select organization from unclaimed_organizations
    where creator = ${creator} and expire_time <= ${now}`)
  for (const [organization] of expired) yield* removeUnclaimed(access, organization as string)
  const row = yield* first(sql`select count(*) from unclaimed_organizations where creator = ${creator}`)
  if ((row?.[0] as number) >= maxUnclaimed)
    throw tooManyRequests(
      `${maxUnclaimed} organizations that you have created wait for their owners; try again when some of the invites are accepted or have expired`,
    )
}

/**
 * Deletes an expired organization with its invites. If something else was created in it, such as by
 * the operator, the organization is kept, but no longer counts toward the limit of its creator, who
 * could not make room otherwise.
 */
function* removeUnclaimed(access: WriteAccess, organization: string): Work<void> {
  yield* readForDelete(groups.table, organization)
  const contents = yield* contentsOf(organization)
  // An association has the uid of its group, so the tally does not count it among the contents of the group.
  const association = yield* first(sql`select uid from account_associations where uid = ${organization}`)
  if (association || contents.some(({ kind }) => kind !== groupInvites.table.name)) {
    yield forgetUnclaimed(organization)
    return
  }
  yield* removeWhere(access, groupInvites, sql`parent = ${organization}`)
  yield* removeEntry(access, groups, organization)
}

/** For an organization that somebody has claimed, or that is kept. */
export const forgetUnclaimed = (organization: string): Sql =>
  sql`delete from unclaimed_organizations where organization = ${organization}`

export function* recordUnclaimed(organization: string, creator: string, expireTime: number): Work<void> {
  yield sql`insert into unclaimed_organizations (organization, creator, expire_time)
    values (${organization}, ${creator}, ${expireTime})`
}
