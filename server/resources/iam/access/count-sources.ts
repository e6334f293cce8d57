// Counts the sources of access at a resource. Most role bindings are one source each, so their
// number is read from the tally or counted in an index. Only the exceptions are looked up: an
// expired or suspended role binding is no source, and a role binding of an external group is one
// source for each member.
import { rootOf } from '../../../aip/uid.ts'
import { hasExpiredAt, isLiveAt } from '../../../store/expiry.ts'
import type { Sql } from '../../../store/sql.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import { readTally } from '../../../store/tally.ts'
import type { Work } from '../../../store/work.ts'
import { roleBindings } from '../role-bindings/table.ts'
import type { SourcesQuery } from './sources-at.ts'

export function* countSources(query: SourcesQuery): Work<number> {
  const all = query.roles ? yield* count(matching(query)) : yield* tallied(query)
  const expired = yield* count(
    sql`${matching(query)} and root = ${organizationOf(query)} and ${hasExpiredAt(query.time)}`,
  )
  const external = yield* readExternal(query)
  const members = yield* countMembers(external, query.time)
  const suspended = yield* countSuspended(query)
  return all - expired - external.length + members - suspended
}

const organizationOf = ({ levels }: SourcesQuery) => rootOf(levels[0] ?? '')

/** The condition for the role bindings `b` of a query, live or not. */
const matching = ({ levels, roles }: SourcesQuery): Sql =>
  sql`b.parent in ${among(levels)} ${roles ? sql`and b.role in ${among(roles)}` : raw('')}`

function* count(condition: Sql): Work<number> {
  const [row] = yield sql`select count(*) from role_bindings b where ${condition}`
  return row?.[0] as number
}

function* tallied({ levels }: SourcesQuery): Work<number> {
  const counts = yield* readTally(roleBindings.table.name, levels)
  return [...counts.values()].reduce((sum, { children }) => sum + children, 0)
}

/** The external group of each role binding that has one. */
function* readExternal(query: SourcesQuery): Work<string[]> {
  const rows = yield sql`select b.identity from external_group_role_mappings x cross join role_bindings b
    where x.root = ${organizationOf(query)} and b.uid = x.binding and ${matching(query)}
      and ${isLiveAt(query.time, 'b')}`
  return rows.map(([group]) => group as string)
}

/** How many members these groups have together. A group that occurs twice counts twice. */
function* countMembers(groups: readonly string[], time: number): Work<number> {
  if (groups.length === 0) return 0
  const counts = new Map<string, number>()
  const distinct = [...new Set(groups)]
  for (let at = 0; at < distinct.length; at += groupsPerStatement) {
    // Both engines read the distinct members in the order of an index.
    const rows = yield sql`select external_group, count(*) from (select distinct external_group, identity
        from external_group_members
        where external_group in ${among(distinct.slice(at, at + groupsPerStatement))} and ${isLiveAt(time)}) m
      group by external_group`
    for (const [group, members] of rows as [string, number][]) counts.set(group, members)
  }
  return groups.reduce((sum, group) => sum + (counts.get(group) ?? 0), 0)
}

const groupsPerStatement = 500

/**
 * Counts the suspended sources: those of people who were deactivated by a provider at or above the
 * group of the binding.
 */
function* countSuspended(query: SourcesQuery): Work<number> {
  const { levels, time } = query
  const suspended = sql`provider_sign_outs s cross join identity_providers p`
  const condition = sql`s.place in ${among(levels)} and p.uid = s.provider and ${matching(query)}
    and length(b.parent) >= length(s.place) and ${isLiveAt(time, 'b')}`
  const [row] = yield sql`select
    (select count(*) from (select distinct b.uid from ${suspended} cross join role_bindings b
      where b.identity = s.identity and ${condition}) own) +
    (select count(*) from (select distinct b.uid, m.identity
      from ${suspended} cross join external_group_members m cross join role_bindings b
      where m.identity = s.identity and ${isLiveAt(time, 'm')} and b.identity = m.external_group
        and ${condition}) external)`
  return row?.[0] as number
}
