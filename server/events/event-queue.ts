// Events that have no transaction of their own wait here, and are inserted in batches. A batch whose insert failed is
// inserted again later. Events that are lost are counted. If the process is killed, events that wait are lost.
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventWithOrigin } from '../store/events/record.ts'
import type { EventBatchesOptions } from './event-batches.ts'
import { openEventBatches } from './event-batches.ts'

export type EventQueue = {
  /**
   * Never waits and never throws. `make` is called when the event is inserted for the first time.
   * Returns false if too many events wait, or if the queue has stopped: then this one is lost.
   */
  add(make: () => EventWithOrigin): boolean
  /** How many events wait to be inserted. */
  waiting(): number
  /** Inserts all that were added so far, or as many as the store accepts. */
  flush(): Promise<void>
  /**
   * Inserts the rest. If the store does not accept it after several attempts, it is lost. Events that are added later
   * are lost as well.
   */
  stop(): Promise<void>
}

export type EventQueueOptions = EventBatchesOptions & {
  /** Called with the number of events that were lost since the last call. */
  onLost(count: number): void
  /** How long an event waits for others. */
  delayMs: number
  /** How long a batch waits after its insert failed. */
  retryMs?: number | undefined
  /** How many batches are inserted without a pause between them. */
  batchesPerTurn: number
  /** How many events wait at most. */
  capacity: number
}

const stopAttempts = 3

export function openEventQueue(options: EventQueueOptions): EventQueue {
  const { onLost, delayMs, retryMs = 1000, batchesPerTurn, capacity } = options
  let lost = 0
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  /** How many turns run or wait in `running`. */
  let turns = 0
  /** `stop` was called, and inserts the rest itself. */
  let isStopping = false
  let isStopped = false

  const batches = openEventBatches(options, (count) => {
    lost += count
  })
  const { waiting } = batches

  function reportLost(): void {
    if (lost > 0) onLost(lost)
    lost = 0
  }
  /** One turn at a time, because a turn begins with the batch that the previous turn failed to insert, if any. */
  function takeTurn(maxBatches: number): Promise<void> {
    turns++
    running = running
      .then(() => batches.insert(maxBatches))
      .finally(() => {
        turns--
        reportLost()
        schedule()
      })
    return running
  }
  function schedule(): void {
    if (timer || turns > 0 || isStopping || waiting() === 0) return
    timer = setTimeout(
      () => {
        timer = undefined
        void takeTurn(batchesPerTurn)
      },
      batches.hasFailed() ? retryMs : delayMs,
    ).unref()
  }
  const flush = () => takeTurn(Number.POSITIVE_INFINITY)
  return {
    add(make) {
      const isAccepted = !isStopped && waiting() < capacity
      if (isAccepted) batches.add(make)
      else lost++
      if (isStopped) reportLost()
      schedule()
      return isAccepted
    },
    waiting,
    flush,
    async stop() {
      isStopping = true
      clearTimeout(timer)
      await flush()
      for (let attempts = 1; attempts < stopAttempts && waiting() > 0; attempts++) {
        await sleep(retryMs)
        await flush()
      }
      isStopped = true
      batches.discard()
      reportLost()
    },
  }
}
