// Exact totals without counting: every insert and delete keeps the counts of its parent and of everything
// above, in the transaction that changes the row.
import type { Sql } from './sql.ts'
import { among, join, raw, sql } from './sql.ts'
import type { Work } from './work.ts'

/**
 * Writers of one organization on PostgreSQL do not wait for each other where each connection keeps to a stripe
 * of its own; the embedded engine has one writer.
 */
const stripe = raw('/*pg pg_backend_pid() % 16 + */ 0')

/** Counts resources in or out. `above` leads from the organization down to the resource's parent. */
export function* adjustTally(kind: string, above: readonly string[], by: number): Work<void> {
  if (above.length === 0) return
  const parent = above.at(-1)
  const rows = above.map((place) => sql`(${kind}, ${place}, ${stripe}, ${place === parent ? by : 0}, ${by})`)
  yield sql`insert into tally (kind, place, stripe, children, subtree) values ${join(rows, ', ')}
    on conflict (kind, place, stripe) do update
    set children = tally.children + excluded.children, subtree = tally.subtree + excluded.subtree`
}

export const dropTally = (place: string): Sql => sql`delete from tally where place = ${place}`

export type Count = { children: number; subtree: number }

const placesInAStatement = 512

export function* readTally(kind: string, places: readonly string[]): Work<Map<string, Count>> {
  const counts = new Map<string, Count>()
  for (let at = 0; at < places.length; at += placesInAStatement) {
    const some = among(places.slice(at, at + placesInAStatement))
    const rows = yield sql`select place, sum(children), sum(subtree) from tally
      where kind = ${kind} and place in ${some} group by place`
    for (const [place, children, subtree] of rows) {
      counts.set(place as string, { children: children as number, subtree: subtree as number })
    }
  }
  return counts
}

/** One count of a place, as an expression. */
export const tallied = (counted: keyof Count, kind: string, place: string): Sql =>
  sql`(select coalesce(sum(${raw(counted)}), 0) from tally where kind = ${kind} and place = ${place})`

/** The kinds that lie directly in a place, with how many there are. */
export function* contentsOf(place: string): Work<{ kind: string; count: number }[]> {
  const rows = yield sql`select kind, sum(children) from tally where place = ${place}
    group by kind having sum(children) <> 0 order by kind`
  return rows.map(([kind, count]) => ({ kind: kind as string, count: count as number }))
}
