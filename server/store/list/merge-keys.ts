// Merges the keys of more scans than one statement can contain.
import type { Row, Value } from '../sql.ts'
import { sql } from '../sql.ts'
import type { Table } from '../table.ts'
import type { Work } from '../work.ts'
import type { Listing, Term } from './listing.ts'
import type { RowsPlan } from './plan.ts'
import { scanCondition } from './region-sql.ts'
import { selectKeys } from './rows-sql.ts'

type BatchedPlan = Extract<RowsPlan, { kind: 'batched' }>

/** Returns the first `count` keys. If all keys of a batch precede those of the next, it reads only the needed batches. */
export function* mergeKeys(
  table: Table,
  listing: Listing,
  { batches, isSequence }: BatchedPlan,
  count: number,
): Work<Row[]> {
  const { order } = listing
  let keys: Row[] = []
  for (const batch of batches) {
    const scans = batch.map((scan) => scanCondition(scan, listing))
    const batchKeys: Row[] = yield selectKeys(table, order, scans, sql`limit ${count}`, count)
    keys = keys.concat(batchKeys)
    if (!isSequence) keys = keys.sort(compareBy(order)).slice(0, count)
    else if (keys.length >= count) break
  }
  return keys.slice(0, count)
}

function compareBy(order: readonly Term[]) {
  return (a: Row, b: Row) => {
    for (const [at, { descending }] of order.entries()) {
      const difference = compareValues(a[at] ?? null, b[at] ?? null)
      if (difference !== 0) return descending ? -difference : difference
    }
    return 0
  }
}

/** Compares as both engines do: numbers by size, text by its bytes. */
function compareValues(a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return a === b ? 0 : Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))
}
