// The members of an external group, according to the groups that SCIM sends.
import { setGroupMembers } from './external-groups.ts'
import { sql } from './sql.ts'
import type { Work } from './work.ts'
import { all } from './work.ts'

/**
 * Sets the members of an external group, if it has a role mapping: everybody in a SCIM group with this id who is active
 * and has signed in through the provider. Returns how many of them are left out, because they are in too many groups.
 * The caller has locked the SCIM settings of the provider, so no other transaction changes its groups meanwhile.
 */
export function* setMembersFromScim(provider: string, groupId: string): Work<number> {
  const rows = yield* all(sql`select distinct u.identity from scim_groups g
    join scim_members m on m.group_uid = g.uid join scim_users u on u.uid = m.user_uid
    where g.provider = ${provider} and g.mapping_id = ${groupId} and u.is_active = 1 and u.identity is not null`)
  const people = rows.map(([identity]) => identity as string)
  return yield* setGroupMembers(provider, groupId, people)
}
