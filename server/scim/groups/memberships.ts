// Feeds the members of SCIM groups to external groups, whose members get the mapped roles. The id of a SCIM group there
// is its externalId or, without one, its displayName. Only active people who have signed in through the provider are
// members: nobody gets roles without having joined.
import {
  addMembers,
  neverExpires,
  removeAllMemberships,
  removeMembers,
  replaceMemberships,
  setGroupMembers,
} from '../../store/external-groups.ts'
import { among, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all } from '../../store/work.ts'
import type { MemberDifference } from './members.ts'

/** Gives a person the memberships of their SCIM user. */
export function* grantMemberships(provider: string, user: string, identity: string): Work<void> {
  const rows =
    yield* all(sql`select g.mapping_id from scim_members m join scim_groups g on g.uid = m.group_uid
    where m.user_uid = ${user}`)
  const ids = rows.map(([id]) => id as string)
  yield* replaceMemberships(provider, identity, 'scim', ids, neverExpires)
}

/** Ends all memberships of a deactivated person. */
export const revokeMemberships = (provider: string, identity: string): Work<void> =>
  removeAllMemberships(provider, identity)

/** After members of one group were added and removed. */
export function* changeMemberships(
  provider: string,
  mappingId: string,
  { added, removed }: MemberDifference,
): Work<void> {
  const uidsOf = (ids: readonly string[]) => ids.map((id) => `${provider}/${id}`)
  yield* addMembers(provider, mappingId, yield* peopleOf(uidsOf(added)))
  yield* removeMembers(provider, mappingId, yield* peopleOf(uidsOf(removed), mappingId))
}

/** After a group was deleted, or got another id: makes the members of all groups with this id its members. */
export function* resetMemberships(provider: string, mappingId: string): Work<void> {
  const rows = yield* all(sql`select distinct u.identity from scim_groups g
    join scim_members m on m.group_uid = g.uid join scim_users u on u.uid = m.user_uid
    where g.provider = ${provider} and g.mapping_id = ${mappingId} and u.is_active = 1 and u.identity is not null`)
  yield* setGroupMembers(
    provider,
    mappingId,
    rows.map(([identity]) => identity as string),
  )
}

const uidsPerStatement = 500

/** The people of active users. Without those who are members of a group with the id `except`: names need not be unique. */
function* peopleOf(users: readonly string[], except?: string): Work<string[]> {
  const people: string[] = []
  for (let at = 0; at < users.length; at += uidsPerStatement) {
    const some = users.slice(at, at + uidsPerStatement)
    const rows = yield* all(sql`select u.identity from scim_users u
      where u.uid in ${among(some)} and u.is_active = 1 and u.identity is not null
      and not exists (select 1 from scim_members m join scim_groups g on g.uid = m.group_uid
        where m.user_uid = u.uid and g.mapping_id = ${except ?? null})`)
    people.push(...rows.map(([identity]) => identity as string))
  }
  return people
}
