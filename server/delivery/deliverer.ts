// Leases the delivery queues that are due and runs a turn of each, several at a time. docs/internals/delivery.md
// explains turns.
import type { DueQueue } from '../store/delivery/queues.ts'
import { findDueQueues, leaseQueues, wakeOverlooked } from '../store/delivery/queues.ts'
import type { TurnDependencies } from './turn.ts'
import { leaseMs, takeTurn } from './turn.ts'

/**
 * How many turns run at the same time, separately for sinks that have accepted the last requests and for all others:
 * sinks that do not answer occupy a place for 15 seconds each, and must not take the places of those that work.
 */
const pools = [
  { isProven: true, places: 32, perOrganization: 16 },
  { isProven: false, places: 16, perOrganization: 4 },
] as const
type Pool = (typeof pools)[number]

/** How many due queues are read at a time. */
const candidates = 64
/** How often the store is asked for due queues. Events that this process seals are sent without this delay. */
const pollMs = 1000
/** How often queues are woken that were not woken when their events were sealed. */
const overlookedMs = 10_000

export type DelivererDependencies = Omit<TurnDependencies, 'stopped'> & {
  onError(error: unknown): void
  /** If false, only `settle` sends anything. */
  deliversInBackground: boolean
}

export type Deliverer = {
  /** Looks for due queues soon. Called when events were sealed. */
  wake(): void
  /** Sends everything that is due, including queues that were not woken by sealing. */
  settle(): Promise<void>
  /** Ends running requests. Their deliveries are sent by the next process. */
  stop(): Promise<void>
}

export function openDeliverer(options: DelivererDependencies): Deliverer {
  const { store, now, random, clock, onError, deliversInBackground } = options
  const stopping = new AbortController()
  const deps: TurnDependencies = { ...options, stopped: stopping.signal }
  const running = new Map<Promise<void>, { root: string; pool: Pool }>()
  let claiming: Promise<void> | undefined
  let isWanted = false
  let overlookedWakeTime = Number.NEGATIVE_INFINITY

  const countIn = (pool: Pool, root?: string) =>
    [...running.values()].filter((turn) => turn.pool === pool && (root ?? turn.root) === turn.root).length

  /** Begins turns until the pool is full, or nothing is due. */
  async function fill(pool: Pool): Promise<void> {
    for (let free = pool.places - countIn(pool); free > 0; free = pool.places - countIn(pool)) {
      const busy = [...new Set([...running.values()].map(({ root }) => root))].filter(
        (root) => countIn(pool, root) >= pool.perOrganization,
      )
      const found = await store.read(() =>
        findDueQueues(pool.isProven, now(), { exceptRoots: busy, limit: candidates }),
      )
      const chosen = choose(found, free, (root) => pool.perOrganization - countIn(pool, root))
      if (chosen.size === 0 || stopping.signal.aborted) return
      const token = random(16).toString('hex')
      const lease = { token, until: now() + leaseMs }
      const leased = await store.write(() => leaseQueues([...chosen.keys()], lease, now()))
      for (const subscription of leased) begin(pool, chosen.get(subscription) ?? '', { subscription, token })
      if (leased.length === 0) return
    }
  }

  function begin(pool: Pool, root: string, turn: { subscription: string; token: string }): void {
    const done: Promise<void> = takeTurn(deps, turn)
      .catch(onError)
      .then(() => {
        running.delete(done)
        void claimSoon()
      })
    running.set(done, { root, pool })
  }

  async function claim(): Promise<void> {
    while (isWanted && !stopping.signal.aborted) {
      isWanted = false
      // `isWanted` is reset before anything can throw. Otherwise an error would be repeated at once, in an endless loop.
      if (clock() - overlookedWakeTime > overlookedMs) {
        overlookedWakeTime = clock()
        while (await store.write(() => wakeOverlooked(now())));
      }
      for (const pool of pools) await fill(pool)
    }
  }

  function claimSoon(): Promise<void> {
    isWanted = true
    claiming ??= claim()
      .catch(onError)
      .finally(() => {
        claiming = undefined
        if (isWanted && !stopping.signal.aborted) void claimSoon()
      })
    return claiming
  }

  const timer = deliversInBackground ? setInterval(claimSoon, pollMs).unref() : undefined
  return {
    wake() {
      if (deliversInBackground) void claimSoon()
    },
    async settle() {
      for (;;) {
        overlookedWakeTime = Number.NEGATIVE_INFINITY
        await claimSoon()
        if (running.size === 0) return
        await Promise.race(running.keys())
      }
    },
    async stop() {
      clearInterval(timer)
      stopping.abort()
      await claiming
      await Promise.all(running.keys())
    },
  }
}

/** Subscriptions with their organizations: at most `free`, and of each organization at most `freeOf`. */
function choose(
  found: readonly DueQueue[],
  free: number,
  freeOf: (root: string) => number,
): Map<string, string> {
  const chosen = new Map<string, string>()
  const chosenOf = new Map<string, number>()
  for (const { subscription, root } of found) {
    const count = chosenOf.get(root) ?? 0
    if (chosen.size === free || count >= freeOf(root)) continue
    chosen.set(subscription, root)
    chosenOf.set(root, count + 1)
  }
  return chosen
}
