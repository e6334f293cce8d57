// Holds the tallies against a recount. Reads one moment of the store, so that it is right while others write;
// a repair then counts again what seemed wrong, in short transactions that no writer passes.
import type { Store } from './db.ts'
import { raw, sql } from './sql.ts'
import type { Count } from './tally.ts'
import { readTally } from './tally.ts'
import type { Work } from './work.ts'

export type Difference = { kind: string; place: string; said: Count; counted: Count }

/** Few enough that writers hardly notice. */
const repairsAtOnce = 100

export async function checkTally(
  store: Store,
  kinds: readonly string[],
  isRepair: boolean,
): Promise<Difference[]> {
  const seen = await store.read(() => findDifferences(kinds))
  if (!isRepair) return seen
  const mended: Difference[] = []
  for (let at = 0; at < seen.length; at += repairsAtOnce) {
    const some = seen.slice(at, at + repairsAtOnce)
    mended.push(...(await store.write(() => repairAll(some))))
  }
  return mended
}

function* findDifferences(kinds: readonly string[]): Work<Difference[]> {
  const differences: Difference[] = []
  for (const kind of kinds) {
    const counted = yield* recount(kind)
    const said = yield* readAll(kind)
    for (const place of new Set([...counted.keys(), ...said.keys()])) {
      const difference = compare(kind, place, said.get(place), counted.get(place))
      if (difference) differences.push(difference)
    }
  }
  return differences
}

const nothing: Count = { children: 0, subtree: 0 }

function compare(
  kind: string,
  place: string,
  said: Count = nothing,
  counted: Count = nothing,
): Difference | undefined {
  const isRight = said.children === counted.children && said.subtree === counted.subtree
  return isRight ? undefined : { kind, place, said, counted }
}

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
  const rows =
    yield sql`select place, sum(children), sum(subtree) from tally where kind = ${kind} group by place`
  return new Map(
    rows.map(([place, children, subtree]) => [
      place as string,
      { children: children as number, subtree: subtree as number },
    ]),
  )
}

/** Answers what it mended: what was wrong in the meantime only, or is no more, is left alone. */
function* repairAll(seen: readonly Difference[]): Work<Difference[]> {
  // Writers change the tally last, so holding it holds them back until the repair is done.
  yield raw('/*pg lock table tally in exclusive mode -- */ select 1')
  const mended: Difference[] = []
  for (const { kind, place } of seen) {
    const said = (yield* readTally(kind, [place])).get(place)
    const difference = compare(kind, place, said, yield* recountPlace(kind, place))
    if (!difference) continue
    yield* repair(difference)
    mended.push(difference)
  }
  return mended
}

function* recountPlace(kind: string, place: string): Work<Count> {
  const [row] = yield sql`select
    (select count(*) from ${raw(kind)} where parent = ${place}),
    (select count(*) from ${raw(kind)} where uid >= ${`${place}/`} and uid < ${`${place}0`})`
  const [children, subtree] = row as [number, number]
  return { children, subtree }
}

function* repair({ kind, place, said, counted }: Difference): Work<void> {
  yield sql`insert into tally (kind, place, stripe, children, subtree)
    values (${kind}, ${place}, 0, ${counted.children - said.children}, ${counted.subtree - said.subtree})
    on conflict (kind, place, stripe) do update
    set children = tally.children + excluded.children, subtree = tally.subtree + excluded.subtree`
}
