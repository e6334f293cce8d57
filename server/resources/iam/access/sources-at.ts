// Everyone who has access at a resource: the role bindings of its group and of the groups above it. Each group is read
// in the order of an index, so a page takes the same time however many role bindings there are.
import { isLiveAt } from '../../../store/expiry.ts'
import type { Row, Sql } from '../../../store/sql.ts'
import { among, join, raw, sql } from '../../../store/sql.ts'
import { isNotSuspended } from '../../../store/suspensions.ts'
import type { Work } from '../../../store/work.ts'
import type { Source } from './source.ts'
import { untilOf } from './source.ts'

export type SourcesQuery = {
  /** The resource and the groups above it, the nearest first. */
  levels: readonly string[]
  /** Only these roles; undefined for all. */
  roles: readonly string[] | undefined
  /** Milliseconds since 1970. */
  time: number
}

/** The position after a source: its level, its role binding, and the identity that has access through it. */
export type SourceCursor = [level: number, binding: string, identity: string]

/** Up to `count` sources after the cursor. */
export function* readSourcesAt(
  query: SourcesQuery,
  after: SourceCursor | undefined,
  count: number,
): Work<{ source: Source; cursor: SourceCursor }[]> {
  const found: { source: Source; cursor: SourceCursor }[] = []
  let [level, binding, identity] = after ?? [0, '', '']
  while (level < query.levels.length && found.length < count) {
    // Includes the binding at the cursor: if it is of an external group, more members may follow.
    const rows: Row[] = yield selectBindings(query, level, binding, count)
    for (const row of rows as BindingRow[]) {
      const [uid, holder, role, expireTime, isExternal] = row
      const isSame = uid === binding
      if (isExternal)
        for (const source of yield* readMembers(query, row, isSame ? identity : '', count - found.length))
          found.push({ source, cursor: [level, uid, source.identity] })
      else if (!isSame) {
        const source = { binding: uid, role, identity: holder, until: untilOf(expireTime) }
        found.push({ source, cursor: [level, uid, holder] })
      }
      if (found.length >= count) return found
    }
    const last = rows.at(-1) as BindingRow | undefined
    if (last && rows.length > 1 && rows.length >= count) [binding, identity] = [last[0], lastIdentity]
    else [level, binding, identity] = [level + 1, '', '']
  }
  return found
}

/** Sorts after all identities: uids consist of hexadecimal digits and slashes. */
const lastIdentity = '~'

type BindingRow = [uid: string, identity: string, role: string, expireTime: number, isExternal: number]

/**
 * The bindings of a level from the uid `from` on, including `from` itself: at least `count + 1`, or
 * all if there are fewer. With few roles, there is a scan for each role; with many, one scan skips
 * the bindings of other roles.
 */
function selectBindings(query: SourcesQuery, level: number, from: string, count: number): Sql {
  const { levels, roles, time } = query
  const group = levels[level] ?? ''
  const limit = limitOf(count + 1)
  const scan = (condition: Sql) =>
    sql`select b.uid, b.identity, b.role, b.expire_time, case when ${isMapped} then 1 else 0 end as is_external
      from role_bindings b cross join identities i
      where b.parent = ${group} and b.uid >= ${from} ${condition} and i.uid = b.identity
        and ${isLiveAt(time, 'b')} and ${isActive} and (not ${isMapped} or ${hasMembers(time)})
      order by b.uid limit ${limit}`
  if (roles === undefined) return scan(raw(''))
  if (roles.length > maxRoleScans) return scan(sql`and b.role in ${among(roles)}`)
  const scans = roles.map((role) => sql`select * from (${scan(sql`and b.role = ${role}`)}) s`)
  return sql`select * from (${join(scans, ' union all ')}) t order by uid limit ${limit}`
}

const maxRoleScans = 24

/**
 * A limit is part of the SQL text, because both engines plan badly if it is a parameter. It is rounded up, so that there
 * are few distinct texts.
 */
const limitOf = (count: number) => raw(String(limits.find((limit) => limit >= count) ?? maxLimit))
/** Usual page sizes plus 2: for a source that shows whether there is a next page, and for the binding at the cursor. */
const limits = [12, 52, 102]
const maxLimit = 202

/** Whether it is the binding of an external group, whose members have the role. */
const isMapped = raw('exists (select 1 from external_group_role_mappings x where x.binding = b.uid)')

/** Leaves out external groups without members, because reading the members takes one more statement for each group. */
const hasMembers = (time: number) =>
  sql`exists (select 1 from external_group_members m where m.external_group = b.identity and ${isLiveAt(time, 'm')})`

/** The condition that the role of `i` in the group of `b` is not suspended. */
const isActive = sql`(i.suspended is null or ${isNotSuspended(raw('i.uid'))})`

function* readMembers(
  { time }: SourcesQuery,
  [binding, group, role, expireTime]: BindingRow,
  after: string,
  count: number,
): Work<Source[]> {
  const rows = yield sql`select m.identity, max(m.expire_time)
    from external_group_members m cross join identities i cross join role_bindings b
    where m.external_group = ${group} and m.identity > ${after} and ${isLiveAt(time, 'm')}
      and i.uid = m.identity and b.uid = ${binding} and ${isActive}
    group by m.identity order by m.identity limit ${limitOf(count)}`
  return (rows as [string, number][]).slice(0, count).map(([identity, memberUntil]) => ({
    ...{ binding, role, identity, until: untilOf(Math.min(expireTime, memberUntil)) },
  }))
}
