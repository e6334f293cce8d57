// The tally: how many resources of each kind are in a group and below it. Every insert and delete updates the counts of
// all groups above the row in the same transaction, so totals are exact and need no counting. The column `place` is the
// uid of the group.
import type { Row, Sql } from './sql.ts'
import { among, join, raw, sql } from './sql.ts'
import type { Work } from './work.ts'

/**
 * A count is the sum of up to 16 rows, its stripes. On PostgreSQL each connection updates the stripe of its backend, so
 * that writers of one organization rarely wait for each other. SQLite has one writer and needs one stripe.
 */
export const stripeCount = 16
export const stripe = raw(`/*pg pg_backend_pid() % ${stripeCount} + */ 0`)

/** A limit that a group has on the number of resources of a kind in and below it, see quota.ts. */
export type Quota = { group: string; quota: number }

const noQuotas: readonly Quota[] = []

/**
 * Adds `by`, which may be negative, to the counts. `ancestors` are the uids from the organization to the parent.
 *
 * On PostgreSQL, returns the quotas of the ancestors, even those that were set after this transaction began: they are
 * stored in the rows that the statement updates. On SQLite, returns none: no other transaction can set a quota
 * meanwhile, and `returning` would double the time of the statement, which is 12 to 30 µs.
 */
export const adjustTally = (kind: string, ancestors: readonly string[], by: number): Work<readonly Quota[]> =>
  adjust(kind, ancestors, by, by)

/** Like `adjustTally`, for something that is not a resource, such as bytes: it does not keep a group from being deleted. */
export const adjustAmount = (
  kind: string,
  ancestors: readonly string[],
  by: number,
): Work<readonly Quota[]> => adjust(kind, ancestors, by, 0)

function* adjust(
  kind: string,
  ancestors: readonly string[],
  by: number,
  childrenBy: number,
): Work<readonly Quota[]> {
  if (ancestors.length === 0) return noQuotas
  const parent = ancestors.at(-1)
  const rows = ancestors.map(
    (group) => sql`(${kind}, ${group}, ${stripe}, ${group === parent ? childrenBy : 0}, ${by})`,
  )
  const returned =
    yield sql`insert into tally (kind, place, stripe, children, subtree) values ${join(rows, ', ')}
    on conflict (kind, place, stripe) do update
    set children = tally.children + excluded.children, subtree = tally.subtree + excluded.subtree
    /*pg returning place, quota */`
  return returned.length === 0 ? noQuotas : quotasOf(returned)
}

function quotasOf(rows: readonly Row[]): Quota[] {
  const limited = rows.filter(([, quota]) => quota !== null) as [string, number][]
  return limited.map(([group, quota]) => ({ group, quota }))
}

/** Deletes all counts of a group that is deleted itself. */
export const dropTally = (group: string): Sql => sql`delete from tally where place = ${group}`

/** `children` are directly in the group, `subtree` at any depth below it. */
export type Count = { children: number; subtree: number }

const groupsPerStatement = 512

export function* readTally(kind: string, groups: readonly string[]): Work<Map<string, Count>> {
  const counts = new Map<string, Count>()
  for (let at = 0; at < groups.length; at += groupsPerStatement) {
    const batch = among(groups.slice(at, at + groupsPerStatement))
    const rows = yield sql`select place, sum(children), sum(subtree) from tally
      where kind = ${kind} and place in ${batch} group by place`
    for (const [group, children, subtree] of rows) {
      counts.set(group as string, { children: children as number, subtree: subtree as number })
    }
  }
  return counts
}

/** The SQL expression of one count of a group. */
export const tallied = (count: keyof Count, kind: string, group: string): Sql =>
  sql`(select coalesce(sum(${raw(count)}), 0) from tally where kind = ${kind} and place = ${group})`

/** The kinds of resources directly in a group, and how many there are of each. */
export function* contentsOf(group: string): Work<{ kind: string; count: number }[]> {
  const rows = yield sql`select kind, sum(children) from tally where place = ${group}
    group by kind having sum(children) <> 0 order by kind`
  return rows.map(([kind, count]) => ({ kind: kind as string, count: count as number }))
}
