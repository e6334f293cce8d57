// Compares the tally with a recount. The check reads one snapshot, so concurrent writes do not affect its result. A repair
// then recounts the groups that differ, in short transactions that lock the tally.
import type { Store } from './db.ts'
import type { Sql } from './sql.ts'
import { raw, sql } from './sql.ts'
import type { Count } from './tally.ts'
import { readTally } from './tally.ts'
import type { Work } from './work.ts'

/** `tallied` is the count in the tally, `counted` the recount of the rows. */
export type Difference = { kind: string; group: string; tallied: Count; counted: Count }

/** A quantity that the tally sums up in place of a number of resources, such as bytes. */
export type Amount = {
  kind: string
  /** Selects groups, and how much is directly in each. */
  perGroup: Sql
  /** Selects how much is in and below a group. */
  below(group: string): Sql
}

/** Small, because writers wait for each of these transactions. */
const repairsPerTransaction = 100

/** Returns the differences or, if `shouldRepair`, the differences that it repaired. */
export async function checkTally(
  store: Store,
  kinds: readonly string[],
  shouldRepair: boolean,
  amounts: readonly Amount[] = [],
): Promise<Difference[]> {
  const differences = await store.read(() => findDifferences(kinds, amounts))
  if (!shouldRepair) return differences
  const repaired: Difference[] = []
  for (let at = 0; at < differences.length; at += repairsPerTransaction) {
    const batch = differences.slice(at, at + repairsPerTransaction)
    repaired.push(...(await store.write(() => repairAll(batch, amounts))))
  }
  return repaired
}

function* findDifferences(kinds: readonly string[], amounts: readonly Amount[]): Work<Difference[]> {
  const differences: Difference[] = []
  for (const kind of [...kinds, ...amounts.map((amount) => amount.kind)]) {
    const amount = amounts.find((other) => other.kind === kind)
    const counted = sumUp((yield amount?.perGroup ?? childrenOf(kind)) as [string, number][], !amount)
    const tallied = yield* readTallies(kind)
    for (const group of new Set([...counted.keys(), ...tallied.keys()])) {
      const difference = compare(kind, group, tallied.get(group), counted.get(group))
      if (difference) differences.push(difference)
    }
  }
  return differences
}

const nothing: Count = { children: 0, subtree: 0 }

function compare(
  kind: string,
  group: string,
  tallied: Count = nothing,
  counted: Count = nothing,
): Difference | undefined {
  const isEqual = tallied.children === counted.children && tallied.subtree === counted.subtree
  return isEqual ? undefined : { kind, group, tallied, counted }
}

const childrenOf = (kind: string): Sql =>
  sql`select parent, count(*) from ${raw(kind)} where parent is not null group by parent`

/** Adds the count of each group to the groups above it. Only resources count as children. */
function sumUp(rows: readonly [string, number][], areResources: boolean): Map<string, Count> {
  const counts = new Map<string, Count>()
  for (const [parent, count] of rows) {
    for (let group = parent; group !== ''; group = group.slice(0, Math.max(0, group.lastIndexOf('/')))) {
      const { children, subtree } = counts.get(group) ?? nothing
      counts.set(group, {
        children: group === parent && areResources ? children + count : children,
        subtree: subtree + count,
      })
    }
  }
  return counts
}

function* readTallies(kind: string): Work<Map<string, Count>> {
  const rows =
    yield sql`select place, sum(children), sum(subtree) from tally where kind = ${kind} group by place`
  return new Map(
    rows.map(([group, children, subtree]) => [
      group as string,
      { children: children as number, subtree: subtree as number },
    ]),
  )
}

/** Compares again under a lock, and returns the differences that remained and were repaired. */
function* repairAll(differences: readonly Difference[], amounts: readonly Amount[]): Work<Difference[]> {
  // Writers update the tally last, so they wait for this lock before they commit.
  yield raw('/*pg lock table tally in exclusive mode -- */ select 1')
  const repaired: Difference[] = []
  for (const { kind, group } of differences) {
    const tallied = (yield* readTally(kind, [group])).get(group)
    const amount = amounts.find((other) => other.kind === kind)
    const counted = amount ? yield* readAmount(amount, group) : yield* recountGroup(kind, group)
    const difference = compare(kind, group, tallied, counted)
    if (!difference) continue
    yield* repair(difference)
    repaired.push(difference)
  }
  return repaired
}

function* readAmount({ below }: Amount, group: string): Work<Count> {
  const [row] = yield below(group)
  return { children: 0, subtree: Number(row?.[0] ?? 0) }
}

function* recountGroup(kind: string, group: string): Work<Count> {
  const [row] = yield sql`select
    (select count(*) from ${raw(kind)} where parent = ${group}),
    (select count(*) from ${raw(kind)} where uid >= ${`${group}/`} and uid < ${`${group}0`})`
  const [children, subtree] = row as [number, number]
  return { children, subtree }
}

function* repair({ kind, group, tallied, counted }: Difference): Work<void> {
  yield sql`insert into tally (kind, place, stripe, children, subtree)
    values (${kind}, ${group}, 0, ${counted.children - tallied.children}, ${counted.subtree - tallied.subtree})
    on conflict (kind, place, stripe) do update
    set children = tally.children + excluded.children, subtree = tally.subtree + excluded.subtree`
}
