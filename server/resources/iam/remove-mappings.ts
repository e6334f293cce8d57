// Deletes external group role mappings, with their role bindings, and protects these bindings from other changes.
import { failedPrecondition } from '../../aip/errors.ts'
import { parentOf } from '../../aip/uid.ts'
import { removeMembersOfGroup } from '../../store/external-groups.ts'
import { isMapped } from '../../store/membership-limits.ts'
import { lockScimSettings } from '../../store/scim-settings.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all, first } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import { removeEntry } from '../delete.ts'
import { externalGroupRoleMappings } from './external-group-role-mappings/table.ts'
import { identities } from './identities/table.ts'
import { roleBindings } from './role-bindings/table.ts'

/** Mappings of one provider are created and deleted one after the other. Returns whether the provider exists. */
export function* lockProvider(uid: string): Work<boolean> {
  const row = yield* first(
    sql`select uid from identity_providers where uid = ${uid} /*pg for no key update */`,
  )
  return row !== undefined
}

/**
 * Deletes a mapping and its role binding. If it is the last mapping of its external group, also deletes the identity
 * that represents the group and returns its uid: the caller must then delete the members, who no longer have a role.
 */
export function* removeMapping(access: WriteAccess, uid: string): Work<string | undefined> {
  yield* lockProvider(parentOf(uid))
  const row = yield* first(
    sql`select external_group, binding from external_group_role_mappings where uid = ${uid}`,
  )
  if (!row) return undefined
  const [group, binding] = row as [string, string]
  yield* removeEntry(access, externalGroupRoleMappings, uid)
  yield* removeEntry(access, roleBindings, binding)
  const other = yield* first(
    sql`select uid from external_group_role_mappings where external_group = ${group} limit 1`,
  )
  if (other) return undefined
  yield* removeEntry(access, identities, group)
  return group
}

/** Deletes a batch of the members of an external group, unless it is mapped again. Returns whether there may be more. */
export function* removeUnmappedMembers(provider: string, group: string): Work<boolean> {
  yield* lockProvider(provider)
  // A SCIM request that has found the mapping may be adding members.
  yield* lockScimSettings(provider)
  return !(yield* isMapped(group)) && (yield* removeMembersOfGroup(group))
}

/** Each mapping is deleted with several statements. */
const mappingsPerBatch = 50

/**
 * Deletes a batch of the mappings of an identity provider, but not the members of its external groups. Returns whether
 * there may be more mappings.
 */
export function* removeMappingsOf(access: WriteAccess, provider: string): Work<boolean> {
  const rows = yield* all(
    sql`select uid from external_group_role_mappings where parent = ${provider} limit ${mappingsPerBatch}`,
  )
  for (const [uid] of rows) yield* removeMapping(access, uid as string)
  return rows.length === mappingsPerBatch
}

export const roleIsMapped = (mapping: string) =>
  failedPrecondition(
    'ROLE_IS_MAPPED',
    `the role comes from the external group role mapping ${mapping}; delete the mapping instead`,
  )

/** Refuses to delete the role binding of a mapping. */
export function* requireUnmapped(binding: string): Work<void> {
  const row = yield* first(sql`select uid from external_group_role_mappings where binding = ${binding}`)
  if (row) throw roleIsMapped(row[0] as string)
}
