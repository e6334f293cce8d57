// Seals events while the server runs: shortly after each write of this process, and from time to time for rows that
// another process left unsealed. See server/store/events/ for the table, and docs/internals/audit.md.
//
// Interface of the event log for other rooms:
// - server/store/events/record.ts: `recordEvent` records an event in the transaction of a write.
//   Not needed for writes of resources: server/store/table.ts records their events.
// - server/store/events/seal.ts: `FanOut` gets the events that `sealBatch` seals, in its transaction.
// - server/store/events/read-sealed.ts: reads sealed events of an organization after a sequence number.
// - server/store/events/event-row.ts: the row.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../store/db.ts'
import type { FanOut } from '../store/events/seal.ts'
import { hasUnsealed, sealBatch } from '../store/events/seal.ts'

export type SealerOptions = {
  store: Store
  fanOut: FanOut
  onSealed?(count: number): void
  onError(error: unknown): void
  /** How long after a write its events are sealed, so that the events of many writes share a transaction. */
  delayMs?: number
}

export type Sealer = {
  /** To be called after a commit. */
  wake(): void
  /** Seals until nothing is left. Errors are passed to `onError`. */
  run(): Promise<void>
  /**
   * Seals everything that was committed before the call. Gives up after three attempts, for example
   * if another process is sealing each time.
   */
  catchUp(): Promise<void>
  /** Seals as `catchUp` does, and then never again. Errors are passed to `onError`. */
  stop(): Promise<void>
}

export function openSealer(options: SealerOptions): Sealer {
  const { store, fanOut, onSealed = () => {}, onError, delayMs = 100 } = options
  let timer: NodeJS.Timeout | undefined
  let running: Promise<boolean> | undefined
  let isStopped = false

  /** SQLite seals events when it inserts them. So there is mostly nothing to do, and an idle server should not write. */
  const isAllSealed = async () => store.engine === 'sqlite' && (await store.query(hasUnsealed)).length === 0
  /** False if another process is sealing. */
  const sealAll = async (): Promise<boolean> => {
    if (await isAllSealed()) {
      onSealed(0)
      return true
    }
    for (let hasMore = true; hasMore; ) {
      const sealed = await store.write(() => sealBatch(fanOut))
      if (sealed === 'busy') return false
      onSealed(sealed.count)
      hasMore = sealed.hasMore
    }
    return true
  }
  const attempt = (): Promise<boolean> => {
    running ??= sealAll()
      .catch((error: unknown) => {
        onError(error)
        return true
      })
      .finally(() => {
        running = undefined
      })
    return running
  }
  const run = async (): Promise<void> => {
    if (!(await attempt())) wake()
  }
  const wake = (): void => {
    if (timer || isStopped) return
    timer = setTimeout(() => {
      timer = undefined
      void run()
    }, delayMs).unref()
  }
  const catchUp = async () => {
    // The first attempt may have begun before the last commit, and so may that of another process.
    for (let round = 0; round < 3 && (await store.query(hasUnsealed)).length > 0; round++)
      if (!(await attempt())) await sleep(delayMs)
  }
  return {
    ...{ wake, run, catchUp },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      // Waits for a running attempt even if nothing is left to seal, because the store may be closed next.
      await running
      await catchUp().catch(onError)
    },
  }
}

/** How often to seal rows that other processes, such as operator commands, have left unsealed. */
const intervalMs = 2000

/** Reads first, because an idle server should not write. Returns the function that stops it. */
export function sealRegularly(
  { run }: Sealer,
  store: Store,
  onError: (error: unknown) => void,
): () => Promise<void> {
  const sealIfNeeded = async () => {
    if ((await store.query(hasUnsealed)).length > 0) await run()
  }
  const timer = setInterval(() => sealIfNeeded().catch(onError), intervalMs).unref()
  return async () => clearInterval(timer)
}
