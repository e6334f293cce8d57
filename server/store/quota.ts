// Quotas: limits on the number of resources of a kind in and below a group. They are stored in the tally, in all
// stripes of the count that they limit.
import { hashOf } from './postings/term-hash.ts'
import type { Placeholder, Sql } from './sql.ts'
import { among, bulkInsert, raw, sql } from './sql.ts'
import { stripeCount } from './tally.ts'
import type { Work } from './work.ts'

/** `quota` is undefined if the group has no limit for the kind. */
export type Usage = { kind: string; group: string; used: number; quota: number | undefined }

/** A list of `quotasBetween` with more quotas than this may be incomplete. */
const maxListedQuotas = 20

/**
 * The SQL expression of a text that lists the quotas in an organization, as `listsQuota` reads it. Null if there are
 * none. One look-up in an index, whatever the depth of the tree. `from` is the uid of the organization. `to` is this
 * uid followed by `0`, the character after `/`, so the range contains the organization and everything below it.
 */
export const quotasBetween = (from: string | Placeholder, to: string | Placeholder): Sql =>
  sql`(select string_agg(q.place || ' ' || q.kind, ',') from (select place, kind from tally
    where place >= ${from} and place < ${to} and quota is not null and stripe = 0
    ${raw(`limit ${maxListedQuotas + 1}`)}) q)`

/**
 * Whether one of the groups has a quota for the kind, by the text of `quotasBetween`. Undefined if the text does not
 * tell, because the organization has more quotas than are listed.
 */
export function listsQuota(
  text: string | null,
  kind: string,
  groups: readonly string[],
): boolean | undefined {
  if (text === null) return false
  const listed = text.split(',')
  if (groups.some((group) => listed.includes(`${group} ${kind}`))) return true
  return listed.length > maxListedQuotas ? undefined : false
}

/**
 * Locks the creation of resources of a kind in an organization until the transaction ends, so that
 * each transaction counts the resources that others have created. SQLite has one writer and needs no
 * lock.
 */
export const lockUsage = (kind: string, organization: string): Sql =>
  sql`select /*pg pg_advisory_xact_lock( */ ${hashOf(`quota ${kind} ${organization}`)} /*pg ) */`

/** The usage and the quotas of a kind in these groups. Groups that neither contain nor limit the kind are left out. */
export function* readUsage(kind: string, groups: readonly string[]): Work<Usage[]> {
  return usageOf(
    yield sql`select kind, place, sum(subtree), max(quota) from tally
    where kind = ${kind} and place in ${among(groups)} group by kind, place`,
  )
}

/** Like `readUsage`, for all kinds. */
export function* readAllUsage(groups: readonly string[]): Work<Usage[]> {
  return usageOf(
    yield sql`select kind, place, sum(subtree), max(quota) from tally
    where place in ${among(groups)} group by kind, place`,
  )
}

const usageOf = (rows: readonly unknown[][]): Usage[] =>
  (rows as [string, string, number, number | null][]).map(([kind, group, used, quota]) => ({
    ...{ kind, group, used, quota: quota ?? undefined },
  }))

/**
 * Replaces the quotas of a group. On PostgreSQL this waits for running creates that have not seen the new quotas,
 * because creates update the same rows of the tally.
 */
export function* replaceQuotas(group: string, quotas: ReadonlyMap<string, number>): Work<void> {
  yield sql`update tally set quota = null where place = ${group} and quota is not null`
  const rows = [...quotas].flatMap(([kind, quota]) =>
    Array.from({ length: stripeCount }, (_, stripe) => [kind, group, stripe, 0, 0, quota]),
  )
  if (rows.length === 0) return
  yield bulkInsert(
    raw('insert into tally (kind, place, stripe, children, subtree, quota)'),
    rows,
    raw(' on conflict (kind, place, stripe) do update set quota = excluded.quota'),
  )
}
