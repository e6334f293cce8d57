// Role bindings that have expired. Everything that reads bindings treats them as if they did not exist, but until they
// are deleted their rows count in the tally, and the rows of their identity, group and role cannot be deleted.
import { lineage, rootOf } from '../../aip/uid.ts'
import { asExpiry } from '../../policy/origin.ts'
import { hasExpiredAt } from '../../store/expiry.ts'
import type { Usage } from '../../store/quota.ts'
import { readAllUsage } from '../../store/quota.ts'
import type { Sql } from '../../store/sql.ts'
import { raw, sql } from '../../store/sql.ts'
import { deleteEntries } from '../../store/table.ts'
import type { Work } from '../../store/work.ts'
import { all, first } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import { roleBindings } from './role-bindings/table.ts'

/** Each transaction deletes at most this many, so that it does not delay other calls. */
const batchSize = 200

/** Deletes a batch of the bindings that have expired and fulfil the condition. Returns whether there may be more. */
export function* removeExpired(
  access: WriteAccess,
  time: number,
  condition: Sql = raw('1 = 1'),
  order: Sql = raw('expire_time'),
): Work<boolean> {
  // On PostgreSQL, transactions with the same `order` lock the rows in the same order, so that these
  // do not deadlock. Other deadlocks are resolved by a retry.
  const rows =
    yield* all(sql`select uid, parent from role_bindings where ${condition} and ${hasExpiredAt(time)}
    order by ${order}, uid ${raw(`limit ${batchSize}`)} /*pg for update */`)
  const byGroup = Map.groupBy(rows as [string, string][], ([, parent]) => parent)
  for (const group of [...byGroup.keys()].sort()) {
    const uids = byGroup.get(group)?.map(([uid]) => uid) ?? []
    yield* deleteEntries(asExpiry(access), roleBindings.table, uids, lineage(group))
  }
  return rows.length === batchSize
}

/** Whether there is a binding to delete. Reads one entry of an index. */
export function* hasExpired(time: number): Work<boolean> {
  const row = yield* first(sql`select uid from role_bindings where ${hasExpiredAt(time)} limit 1`)
  return row !== undefined
}

export type Binding = { identity: string; role: string; group: string }

/**
 * Deletes the expired bindings that would be in the way of a new one: first the one of the same identity and role in
 * the same group, then others of the organization, which count for its limits.
 */
export function* removeExpiredBlockers(
  access: WriteAccess,
  { identity, role, group }: Binding,
  time: number,
): Work<void> {
  const sameFirst = sql`case when identity = ${identity} and role = ${role} and parent = ${group} then 0 else 1 end`
  yield* removeExpired(access, time, sql`root = ${rootOf(group)}`, sql`${sameFirst}, expire_time`)
}

/** The usage of these groups, from the tally, without bindings that have expired. */
export function* readLiveUsage(groups: readonly string[], time: number): Work<Usage[]> {
  const usage = yield* readAllUsage(groups)
  if (!(yield* hasExpired(time))) return usage
  const live: Usage[] = []
  for (const entry of usage) {
    const canExpire = entry.kind === roleBindings.table.name
    live.push(canExpire ? { ...entry, used: entry.used - (yield* countExpired(entry.group, time)) } : entry)
  }
  return live
}

function* countExpired(group: string, time: number): Work<number> {
  const row = yield* first(sql`select count(*) from role_bindings where root = ${rootOf(group)}
    and uid > ${`${group}/`} and uid < ${`${group}0`} and ${hasExpiredAt(time)}`)
  return row?.[0] as number
}
