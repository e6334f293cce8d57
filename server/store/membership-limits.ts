// Every call of an identity reads its memberships in external groups, so their number is bounded: only external groups
// with a role mapping have members, and an identity has at most `maxMemberships`.
import type { Sql } from './sql.ts'
import { among, sql } from './sql.ts'
import type { Work } from './work.ts'
import { all, first } from './work.ts'

/** Memberships of one identity, over all providers. */
export const maxMemberships = 100

export function* countMemberships(condition: Sql): Work<number> {
  const row = yield* first(sql`select count(*) from external_group_members where ${condition}`)
  return row?.[0] as number
}

/** Those groups of a provider that have a role mapping. */
export function* mappedAmong(provider: string, groups: readonly string[]): Work<string[]> {
  if (groups.length === 0) return []
  // A provider has at most 1000 mappings, but may name more groups.
  const rows = yield* all(
    sql`select distinct external_group from external_group_role_mappings where parent = ${provider}`,
  )
  const mapped = new Set(rows.map(([group]) => group))
  return groups.filter((group) => mapped.has(group))
}

export function* isMapped(group: string): Work<boolean> {
  const row = yield* first(
    sql`select 1 from external_group_role_mappings where external_group = ${group} limit 1`,
  )
  return row !== undefined
}

/** Those identities that are members of the group by SCIM, or can become members within the limit. */
export function* withinLimit(identities: readonly string[], group: string): Work<string[]> {
  const rows = yield* all(sql`select uid from identities where uid in ${among(identities)}
    and (select count(*) from external_group_members m where m.identity = identities.uid
      and not (m.external_group = ${group} and m.source = 'scim')) < ${maxMemberships}`)
  return rows.map(([uid]) => uid as string)
}
