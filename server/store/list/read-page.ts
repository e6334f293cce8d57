// Pages of rows in any documented order, with exact totals: asks for a plan (plan.ts) and runs it.
import { hasExpiredAt } from '../expiry.ts'
import type { Row, Sql } from '../sql.ts'
import { among, join, raw, sql } from '../sql.ts'
import type { Table } from '../table.ts'
import type { Work } from '../work.ts'
import { joinedPage, selectJoined } from './joined-page.ts'
import { renderPage } from './large-rows.ts'
import type { Listing, Page, UncountedPage } from './listing.ts'
import { mergeKeys } from './merge-keys.ts'
import type { RowsPlan, Total } from './plan.ts'
import { limitOf, planList, planRows, scansPerStatement } from './plan.ts'
import { expiredCondition, regionCondition, scanCondition } from './region-sql.ts'
import { limitTo, selectKeys, selectRows, selectRowsOfKeys } from './rows-sql.ts'
import { chunks, isGroupRegion, pointsPerScan } from './scan-region.ts'

export function* readPage(table: Table, listing: Listing): Work<Page> {
  const plan = yield* planList(table, listing)
  if (plan.kind !== 'joined') return yield* readRowsPage(table, listing, plan)
  const page = joinedPage(yield selectJoined(table, listing, plan))
  // A page with large or stale rows cannot be joined into one text by the engine, so its rows are selected separately.
  return page ?? (yield* readRowsPage(table, listing, yield* planRows(table, listing)))
}

/**
 * A page without its total, for callers that do not need it. This saves time: with filters, computing the total means
 * counting the matching rows again for every page.
 */
export function* readUncountedPage(table: Table, listing: Listing): Work<UncountedPage> {
  const inOrder = { ...listing, scansInOrder: true }
  return yield* readRows(table, inOrder, yield* planRows(table, inOrder))
}

function* readRowsPage(table: Table, listing: Listing, plan: RowsPlan): Work<Page> {
  const total = yield* readTotal(table, listing, plan.total)
  if (listing.skip >= total || listing.size === 0) return { rows: [], next: undefined, total }
  const { rows, next } = yield* readRows(table, listing, plan)
  return { rows, next, total }
}

function* readRows(table: Table, listing: Listing, plan: RowsPlan): Work<UncountedPage> {
  const rows = yield* runPlan(table, listing, plan)
  const page = yield* renderPage(table, listing, rows.slice(0, listing.size))
  const last = page.length < rows.length ? rows[page.length - 1] : undefined
  return { rows: page, next: last?.slice(1) }
}

/** The rows of the page, and at least one more if there is a next page. */
function* runPlan(table: Table, listing: Listing, plan: RowsPlan): Work<Row[]> {
  const { order, size, skip } = listing
  const limit = limitOf(size)
  switch (plan.kind) {
    case 'empty':
      return []
    case 'indexed':
    case 'points':
      return yield selectRows(table, listing, scanCondition(plan.scan, listing), limit)
    case 'merged': {
      const scans = plan.scans.map((scan) => scanCondition(scan, listing))
      const keys = selectKeys(table, order, scans, limitTo(limit, skip), limit + skip)
      return yield selectRowsOfKeys(table, listing, keys)
    }
    case 'batched': {
      const keys = yield* mergeKeys(table, listing, plan, limit + skip)
      const uids = keys.slice(skip).map((key) => key.at(-1) ?? null)
      return uids.length === 0 ? [] : yield selectRows(table, listing, sql`uid in ${among(uids)}`, limit)
    }
  }
}

function* readTotal(table: Table, listing: Listing, total: Total): Work<number> {
  if (total.kind === 'counted') {
    const wheres = total.regions.map((region) => regionCondition(region, listing))
    return yield* countRows(table, chunks(wheres, scansPerStatement))
  }
  const points = chunks(total.points, pointsPerScan).map((uids) => [
    regionCondition({ kind: 'points', uids }, listing),
  ])
  const expired = yield* countExpired(table, listing)
  return total.sum - expired + (yield* countRows(table, points))
}

/** Counts the rows of group regions that the tally still contains although they have expired. */
function* countExpired(table: Table, { regions: listed, liveAt: time }: Listing): Work<number> {
  const regions = time === undefined ? [] : listed.filter(isGroupRegion)
  if (time === undefined || regions.length === 0) return 0
  const any = yield sql`select uid from ${raw(table.name)} where ${hasExpiredAt(time)} limit 1`
  if (any.length === 0) return 0
  const wheres = regions.map((region) => expiredCondition(region, time))
  return yield* countRows(table, chunks(wheres, scansPerStatement))
}

/** Counts the rows that match one of the conditions, with one statement for each batch. No row matches two of them. */
function* countRows(table: Table, batches: readonly (readonly Sql[])[]): Work<number> {
  let count = 0
  for (const wheres of batches) {
    const counts = wheres.map((where) => sql`(select count(*) from ${raw(table.name)} where ${where})`)
    const [row] = yield sql`select ${join(counts, ' + ')}`
    count += row?.[0] as number
  }
  return count
}
