// Makes the members of SCIM groups members of external groups, and so gives them the mapped roles.
// The mapping id of a SCIM group is the id of its external group: the externalId of the SCIM group
// or, without one, its displayName. Only active people who have signed in through the provider in
// the browser are members: nobody gets roles without having joined.
import { neverExpires } from '../../store/expiry.ts'
import {
  addMembers,
  makeRoom,
  removeAllMemberships,
  removeMembers,
  replaceMemberships,
} from '../../store/external-groups.ts'
import { among, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all } from '../../store/work.ts'
import { portions } from '../portions.ts'
import type { MemberDifference } from './members.ts'

/** Gives a person the memberships of their SCIM user. */
export function* grantMemberships(provider: string, user: string, identity: string): Work<void> {
  const ids = yield* mappedGroupsOf(provider, user)
  yield* replaceMemberships(provider, identity, 'scim', ids, neverExpires)
}

/**
 * Like `grantMemberships`, for a person who signs in. If the person would then have too many
 * memberships, those through other providers end.
 */
export function* joinGroups(provider: string, user: string, identity: string): Work<void> {
  const ids = yield* mappedGroupsOf(provider, user)
  yield* makeRoom(provider, identity, 'scim', ids)
  yield* replaceMemberships(provider, identity, 'scim', ids, neverExpires)
}

/**
 * The mapping ids of a user's groups that have a role mapping. The external group of a SCIM group
 * is an identity whose name is the mapping id.
 */
function* mappedGroupsOf(provider: string, user: string): Work<string[]> {
  const rows =
    yield* all(sql`select distinct g.mapping_id from scim_members m join scim_groups g on g.uid = m.group_uid
    where m.user_uid = ${user} and g.mapping_id in (select e.name from external_group_role_mappings x
      join identities e on e.uid = x.external_group where x.parent = ${provider})`)
  return rows.map(([id]) => id as string)
}

/** Ends all memberships of a deactivated person. */
export const revokeMemberships = (provider: string, identity: string): Work<void> =>
  removeAllMemberships(provider, identity)

/**
 * Updates an external group after members of its SCIM group were added and removed. Returns how many people were not
 * added because they are in too many groups.
 */
export function* changeMemberships(
  provider: string,
  mappingId: string,
  { added, removed }: MemberDifference,
): Work<number> {
  const uidsOf = (ids: readonly string[]) => ids.map((id) => `${provider}/${id}`)
  const ignored = yield* addMembers(provider, mappingId, yield* peopleOf(uidsOf(added)))
  yield* removeMembers(provider, mappingId, yield* peopleOf(uidsOf(removed), mappingId))
  return ignored
}

/**
 * The identities of active users, except members of SCIM groups with the mapping id `exceptMembersOf`:
 * several groups can have the same displayName, so somebody removed from one may still be in
 * another.
 */
function* peopleOf(users: readonly string[], exceptMembersOf?: string): Work<string[]> {
  const people: string[] = []
  for (const some of portions(users)) {
    const rows = yield* all(sql`select u.identity from scim_users u
      where u.uid in ${among(some)} and u.is_active = 1 and u.identity is not null
      and not exists (select 1 from scim_members m join scim_groups g on g.uid = m.group_uid
        where m.user_uid = u.uid and g.mapping_id = ${exceptMembersOf ?? null})`)
    people.push(...rows.map(([identity]) => identity as string))
  }
  return people
}
