// Deletes SCIM data in batches. SQLite runs a transaction in one turn of the event loop, so the
// number of rows that one transaction deletes is bounded; cascading deletes would have no bound.
// The caller holds the lock of the provider's row in `scim_settings`.
import type { Row, Sql } from './sql.ts'
import { raw, sql } from './sql.ts'
import type { Work } from './work.ts'
import { all } from './work.ts'

/** Members that one transaction deletes. */
export const membersPerBatch = 1000
/** Users or groups that one transaction deletes. Each may have 64 KiB. */
export const resourcesPerBatch = 200

/**
 * Deletes up to `membersPerBatch` members that meet `condition` and `end`, an upper bound of
 * `group_uid`. Returns the uids of their groups and users. If it returns `membersPerBatch` rows,
 * there may be more members.
 */
export function* removeScimMembers(provider: string, condition: Sql, end = raw('true')): Work<Row[]> {
  const rows = yield* all(sql`select group_uid, user_uid from scim_members where ${condition} and ${end}
    order by group_uid, user_uid limit ${membersPerBatch}`)
  const [group, user] = rows.at(-1) ?? []
  if (group === undefined || user === undefined) return []
  // With `end`, or with a comparison of pairs, SQLite would read all members of the provider in
  // each batch.
  yield sql`delete from scim_members where ${condition}
    and group_uid <= ${group} and (group_uid < ${group} or user_uid <= ${user})`
  yield sql`update scim_settings set member_count = member_count - ${rows.length} where provider = ${provider}`
  return rows
}

/** Deletes a batch of the SCIM data of a provider. Returns whether there may be more. */
export function* removeScimBatch(provider: string): Work<boolean> {
  // The uids of the groups of a provider start with its own uid and a slash. In ASCII, `0` comes
  // directly after the slash.
  const [start, end] = [sql`group_uid > ${`${provider}/`}`, sql`group_uid < ${`${provider}0`}`]
  const members = yield* removeScimMembers(provider, start, end)
  if (members.length === membersPerBatch) return true
  for (const [table, count] of [
    ['scim_groups', 'group_count'],
    ['scim_users', 'user_count'],
  ] as const)
    if (yield* removeResources(provider, raw(table), raw(count))) return true
  return false
}

/** Deletes a batch of users or groups, after all members. Returns whether there may be more. */
function* removeResources(provider: string, table: Sql, count: Sql): Work<boolean> {
  const rows = yield* all(sql`select uid, octet_length(json) from ${table} where provider = ${provider}
    order by uid limit ${resourcesPerBatch}`)
  const [last] = rows.at(-1) ?? []
  if (last === undefined) return false
  const bytes = rows.reduce((total, [, size]) => total + (size as number), 0)
  yield sql`delete from ${table} where provider = ${provider} and uid <= ${last}`
  yield sql`update scim_settings set ${count} = ${count} - ${rows.length}, json_bytes = json_bytes - ${bytes}
    where provider = ${provider}`
  return rows.length === resourcesPerBatch
}
