// Events that have no transaction of their own, such as pulls. They are collected in memory and inserted in batches, so
// that a call runs no SQL to record one. If the process is killed, events that are not inserted yet are lost.
import type { Store } from '../store/db.ts'
import type { EventWithOrigin } from '../store/events/record.ts'
import { recordWithOrigins } from '../store/events/record.ts'

export type EventBuffer = {
  /**
   * Never waits and never throws. `make` is called when the event is inserted. Until then `make`
   * stays in memory, so it should refer to little data. Returns false if too many events wait: then
   * this one is lost.
   */
  add(make: () => EventWithOrigin): boolean
  /** How many events wait to be inserted. */
  waiting(): number
  /** Inserts all that were added so far. */
  flush(): Promise<void>
  /** Inserts the rest. Events that are added later are not inserted. */
  stop(): Promise<void>
}

export type EventBufferOptions = {
  store: Store
  onError(error: unknown): void
  /** Called with the number of events that did not fit since the last call. */
  onLost(count: number): void
  /** How long an event waits for others. */
  delayMs?: number
  /** How many events wait at most. */
  capacity?: number
}

/**
 * With the delay, this bounds how many events a thread inserts in a second: about 500. Inserting and sealing one takes
 * 40 µs of CPU time, so a thread spends at most 2 % of its time on them. Longer bursts wait in memory.
 */
const batchSize = 128

export function openEventBuffer(options: EventBufferOptions): EventBuffer {
  const { store, onError, onLost, delayMs = 250, capacity = 2048 } = options
  let waiting: (() => EventWithOrigin)[] = []
  let lost = 0
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isStopped = false

  const insertBatch = async () => {
    const batch = waiting.slice(0, batchSize)
    waiting = waiting.slice(batchSize)
    const events = batch.map((make) => make())
    if (events.length > 0) await store.write(() => recordWithOrigins(events))
  }
  const reportLost = () => {
    if (lost > 0) onLost(lost)
    lost = 0
  }
  const schedule = () => {
    if (timer || isStopped || waiting.length === 0) return
    timer = setTimeout(() => {
      timer = undefined
      running ??= insertBatch()
        .catch(onError)
        .finally(() => {
          running = undefined
          reportLost()
          schedule()
        })
    }, delayMs).unref()
  }
  const flush = async () => {
    await running
    while (waiting.length > 0) await insertBatch().catch(onError)
    reportLost()
  }
  return {
    add(make) {
      const hasRoom = waiting.length < capacity
      if (hasRoom) waiting.push(make)
      else lost++
      schedule()
      return hasRoom
    },
    waiting: () => waiting.length,
    flush,
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await flush()
    },
  }
}
