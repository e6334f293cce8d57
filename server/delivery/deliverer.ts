// Leases the delivery queues that are due and runs a turn of each, several at a time. docs/internals/delivery.md
// explains turns.
import type { DueByOrganization, DueQueue } from '../store/delivery/queues.ts'
import {
  findDueByOrganization,
  findDueQueues,
  leaseQueues,
  wakeOverlooked,
} from '../store/delivery/queues.ts'
import type { Work } from '../store/work.ts'
import { chooseQueues } from './choose-queues.ts'
import type { TurnDependencies } from './turn.ts'
import { leaseMs, takeTurn } from './turn.ts'

/**
 * How many turns run at the same time, separately for sinks that have accepted the last requests and for all others:
 * sinks that do not answer occupy a place for 15 seconds each, and must not take the places of those that work.
 */
const pools = [
  { isProven: true, places: 32, reserved: 8, perOrganization: 16 },
  { isProven: false, places: 16, reserved: 4, perOrganization: 4 },
] as const
type Pool = (typeof pools)[number]

/** How many due queues are read at a time. */
const candidates = 64
/** How many organizations one transaction searches, if at least `candidates` queues are due. */
const organizationsPerRead = 256
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

  /** For each pool, the organization after which the next search by organization begins. */
  const searchedUntil = new Map<Pool, string>()

  const turnsIn = (pool: Pool) => [...running.values()].filter((turn) => turn.pool === pool)

  /** Begins turns until no place of the pool can be given to a queue that is due. */
  async function fill(pool: Pool): Promise<void> {
    while (turnsIn(pool).length < pool.places) {
      const after = searchedUntil.get(pool) ?? ''
      const { queues, oldest, end } = await store.read(() => findCandidates(pool, now(), after))
      const chosen = chooseQueues([...queues, ...oldest], pool, turnsIn(pool))
      if (stopping.signal.aborted) return
      const served = queues.filter(({ subscription }) => chosen.has(subscription)).at(-1)
      searchedUntil.set(pool, served?.root ?? end)
      if (chosen.size === 0) {
        if (end === '') return
        continue
      }
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

/**
 * If more queues are due than are read, those that wait longest may all belong to a few organizations. So organizations are
 * then searched in turn, beginning after the one that was served last.
 */
function* findCandidates(
  { isProven }: Pool,
  now: number,
  after: string,
): Work<DueByOrganization & { oldest: DueQueue[] }> {
  const oldest = yield* findDueQueues(isProven, now, candidates)
  if (oldest.length < candidates) return { queues: [], end: '', oldest }
  const limit = organizationsPerRead
  return { ...(yield* findDueByOrganization(isProven, now, { after, limit })), oldest }
}
