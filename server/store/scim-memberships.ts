// The members of an external group, according to the groups that SCIM sends.
import { setGroupMembers } from './external-groups.ts'
import { sql } from './sql.ts'
import type { Work } from './work.ts'
import { all } from './work.ts'

/**
 * Makes the members of all SCIM groups with this id the members of the external group, if it has a role mapping: those
 * who are active and have signed in through the provider. Returns how many exceed their limit of groups. The caller has
 * locked the SCIM settings of the provider, so no other transaction changes its groups meanwhile.
 */
export function* setMembersFromScim(provider: string, groupId: string): Work<number> {
  const rows = yield* all(sql`select distinct u.identity from scim_groups g
    join scim_members m on m.group_uid = g.uid join scim_users u on u.uid = m.user_uid
    where g.provider = ${provider} and g.mapping_id = ${groupId} and u.is_active = 1 and u.identity is not null`)
  const people = rows.map(([identity]) => identity as string)
  return yield* setGroupMembers(provider, groupId, people)
}
