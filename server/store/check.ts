// Holds the tallies against a recount. Reads one moment of the store, so that it is right while others write;
// a repair changes each tally by the difference, in one transaction that no writer passes.
import type { Store } from './db.ts'
import type { Row } from './sql.ts'
import { raw, sql } from './sql.ts'
import type { Count } from './tally.ts'
import type { Work } from './work.ts'

export type Difference = { kind: string; place: string; said: Count; counted: Count }

export function checkTally(store: Store, kinds: readonly string[], isRepair: boolean): Promise<Difference[]> {
  if (!isRepair) return store.read(() => findDifferences(kinds))
  return store.write(function* () {
    // Writers change the tally last, so holding it holds them back until the repair is done.
    yield raw('/*pg lock table tally in exclusive mode -- */ select 1')
    const differences = yield* findDifferences(kinds)
    for (const difference of differences) yield* repair(difference)
    return differences
  })
}

function* findDifferences(kinds: readonly string[]): Work<Difference[]> {
  const differences: Difference[] = []
  for (const kind of kinds) {
    const counted = yield* recount(kind)
    const said = yield* readAll(kind)
    for (const place of new Set([...counted.keys(), ...said.keys()])) {
      const is = said.get(place) ?? nothing
      const should = counted.get(place) ?? nothing
      if (is.children !== should.children || is.subtree !== should.subtree) {
        differences.push({ kind, place, said: is, counted: should })
      }
    }
  }
  return differences
}

const nothing: Count = { children: 0, subtree: 0 }

function* recount(kind: string): Work<Map<string, Count>> {
  const counts = new Map<string, Count>()
  const rows = yield sql`select parent, count(*) from ${raw(kind)} where parent is not null group by parent`
  for (const [parent, count] of rows as [string, number][]) {
    for (let place = parent; place !== ''; place = place.slice(0, Math.max(0, place.lastIndexOf('/')))) {
      const { children, subtree } = counts.get(place) ?? nothing
      counts.set(place, {
        children: place === parent ? children + count : children,
        subtree: subtree + count,
      })
    }
  }
  return counts
}

function* readAll(kind: string): Work<Map<string, Count>> {
  const rows: Row[] =
    yield sql`select place, sum(children), sum(subtree) from tally where kind = ${kind} group by place`
  return new Map(
    rows.map(([place, children, subtree]) => [
      place as string,
      { children: children as number, subtree: subtree as number },
    ]),
  )
}

function* repair({ kind, place, said, counted }: Difference): Work<void> {
  yield sql`insert into tally (kind, place, stripe, children, subtree)
    values (${kind}, ${place}, 0, ${counted.children - said.children}, ${counted.subtree - said.subtree})
    on conflict (kind, place, stripe) do update
    set children = tally.children + excluded.children, subtree = tally.subtree + excluded.subtree`
}
