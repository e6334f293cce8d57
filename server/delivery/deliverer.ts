// Decides when to look for delivery queues that are due. Their turns run in two pools (turn-pool.ts).
// docs/internals/delivery.md explains turns.
import { wakeOverlooked } from '../store/delivery/queues.ts'
import type { TurnDependencies } from './turn.ts'
import { openTurnPool } from './turn-pool.ts'

/**
 * How many turns run at the same time, separately for sinks that have accepted the last requests and for all others:
 * sinks that do not answer occupy a place for 15 seconds each, and must not take the places of those that work.
 */
const poolSizes = [
  { isProven: true, places: 32, reserved: 8, perOrganization: 16 },
  { isProven: false, places: 16, reserved: 4, perOrganization: 4 },
] as const

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
  const { store, now, clock, onError, deliversInBackground } = options
  const stopping = new AbortController()
  let claiming: Promise<void> | undefined
  let isWanted = false
  let overlookedWakeTime = Number.NEGATIVE_INFINITY

  const deps = { ...options, stopped: stopping.signal, onFree: () => void claimSoon() }
  const pools = poolSizes.map((size) => openTurnPool(size, deps))
  const runningTurns = () => pools.flatMap((pool) => [...pool.running()])

  async function claim(): Promise<void> {
    while (isWanted && !stopping.signal.aborted) {
      isWanted = false
      // `isWanted` is reset before anything can throw. Otherwise an error would be repeated at once, in an endless loop.
      if (clock() - overlookedWakeTime > overlookedMs) {
        overlookedWakeTime = clock()
        while (await store.write(() => wakeOverlooked(now())));
      }
      for (const pool of pools) await pool.fill()
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
        const running = runningTurns()
        if (running.length === 0) return
        await Promise.race(running)
      }
    },
    async stop() {
      clearInterval(timer)
      stopping.abort()
      await claiming
      await Promise.all(runningTurns())
    },
  }
}
