// Remembers the grants that were read, as long as the store does not change. Most calls need the
// same grants as the previous call of their caller. In a tree of depth 8, reading grants takes 9 µs
// of CPU time, and recalling them less than 1 µs. Every commit, even by another process, leads to a
// new snapshot object, so a revoked role binding grants nothing in the next call.
import { BoundedMap } from '../bounded-map.ts'
import type { Caller } from '../wire/caller.ts'
import type { Grant, Grants } from './grants.ts'

/** Together these bound the memory: 2000 lists of 64 grants take about 10 MB. */
const maxCallers = 100
const maxScopesPerCaller = 20
const maxGrants = 64

/** Valid from `since` (inclusive) to `until` (exclusive), in milliseconds since 1970. */
type Remembered = { list: readonly Grant[]; since: number; until: number }

/** The key is the `Caller` object, which all calls with a token share while the token is cached. */
type ByCaller = BoundedMap<Caller, BoundedMap<string | undefined, Remembered>>

const bySnapshot = new WeakMap<object, ByCaller>()

export function recallGrants(
  snapshot: object,
  caller: Caller,
  scope: string | undefined,
  time: number,
): readonly Grant[] | undefined {
  const remembered = bySnapshot.get(snapshot)?.get(caller)?.get(scope)
  return remembered && time >= remembered.since && time < remembered.until ? remembered.list : undefined
}

export function rememberGrants(
  snapshot: object,
  { caller, time, list }: Grants,
  scope: string | undefined,
): void {
  if (list.length > maxGrants) return
  let byCaller = bySnapshot.get(snapshot)
  if (!byCaller) {
    byCaller = new BoundedMap(maxCallers)
    bySnapshot.set(snapshot, byCaller)
  }
  const until = Math.min(...list.map((grant) => grant.until ?? Number.POSITIVE_INFINITY))
  const byScope = byCaller.getOrMake(caller, () => new BoundedMap(maxScopesPerCaller))
  byScope.set(scope, { list, since: time, until })
}
