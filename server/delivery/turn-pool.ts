// Leases the delivery queues that are due and runs a turn of each, as many at a time as the pool has places.
import type { DueByOrganization, DueQueue } from '../store/delivery/queues.ts'
import { findDueByOrganization, findDueQueues, leaseQueues } from '../store/delivery/queues.ts'
import type { Work } from '../store/work.ts'
import type { Places } from './choose-queues.ts'
import { chooseQueues } from './choose-queues.ts'
import type { Turn, TurnDependencies } from './turn.ts'
import { leaseMs, takeTurn } from './turn.ts'

/** How many due queues are read at a time. */
const candidates = 64
/** How many organizations one transaction searches, if at least `candidates` queues are due. */
const organizationsPerRead = 256

export type TurnPool = {
  /** Begins turns until no place can be given to a queue that is due. */
  fill(): Promise<void>
  /** The running turns. */
  running(): Iterable<Promise<void>>
}

export type TurnPoolDependencies = TurnDependencies & {
  onError(error: unknown): void
  /** Called when a turn has ended, so that its place is free. */
  onFree(): void
}

/** `isProven`: whether the pool is for sinks that have accepted the last requests, or for all others. */
export function openTurnPool(places: Places & { isProven: boolean }, deps: TurnPoolDependencies): TurnPool {
  const { store, now, random, stopped, onError, onFree } = deps
  /** The organizations of the running turns. */
  const running = new Map<Promise<void>, { root: string }>()
  /** The organization after which the next search by organization begins. */
  let searchedUntil = ''

  function begin(root: string, turn: Turn): void {
    const done: Promise<void> = takeTurn(deps, turn)
      .catch(onError)
      .then(() => {
        running.delete(done)
        onFree()
      })
    running.set(done, { root })
  }

  return {
    async fill() {
      while (running.size < places.places) {
        const after = searchedUntil
        const { queues, oldest, end } = await store.read(() => findCandidates(places.isProven, now(), after))
        const chosen = chooseQueues([...queues, ...oldest], places, [...running.values()])
        if (stopped.aborted) return
        const served = queues.filter(({ subscription }) => chosen.has(subscription)).at(-1)
        searchedUntil = served?.root ?? end
        if (chosen.size === 0) {
          if (end === '') return
          continue
        }
        const token = random(16).toString('hex')
        const lease = { token, until: now() + leaseMs }
        const leased = await store.write(() => leaseQueues([...chosen.keys()], lease, now()))
        for (const subscription of leased) begin(chosen.get(subscription) ?? '', { subscription, token })
        if (leased.length === 0) return
      }
    },
    running: () => running.keys(),
  }
}

/**
 * If more queues are due than are read, those that wait longest may all belong to a few organizations. So organizations
 * are then searched in turn, beginning after the one that was served last.
 */
function* findCandidates(
  isProven: boolean,
  now: number,
  after: string,
): Work<DueByOrganization & { oldest: DueQueue[] }> {
  const oldest = yield* findDueQueues(isProven, now, candidates)
  if (oldest.length < candidates) return { queues: [], end: '', oldest }
  const limit = organizationsPerRead
  return { ...(yield* findDueByOrganization(isProven, now, { after, limit })), oldest }
}
