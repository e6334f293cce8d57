// Events that have no transaction of their own wait here, and are inserted in batches. A batch whose insert failed is
// inserted again later. Events that are lost are counted. If the process is killed, events that wait are lost.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../store/db.ts'
import type { EventWithOrigin, PreparedEvent } from '../store/events/record.ts'
import { prepareEvent, recordPrepared, withoutRecorded } from '../store/events/record.ts'
import { StoreError } from '../store/store-error.ts'
import type { Work } from '../store/work.ts'
import { countFromZero } from '../store/write-access.ts'

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

export type EventQueueOptions = {
  store: Store
  onError(error: unknown): void
  /** Called with the number of events that were lost since the last call. */
  onLost(count: number): void
  /** How long an event waits for others. */
  delayMs: number
  /** How long a batch waits after its insert failed. */
  retryMs?: number | undefined
  /** How many events one transaction inserts at most. */
  batchSize: number
  /** How many batches are inserted without a pause between them. */
  batchesPerTurn: number
  /** How many events wait at most. */
  capacity: number
  /** Returns the events that are to be inserted. Without this function, all are inserted. */
  select?(events: readonly PreparedEvent[]): Work<readonly PreparedEvent[]>
}

const stopAttempts = 3

export function openEventQueue(options: EventQueueOptions): EventQueue {
  const { store, onError, onLost, delayMs, retryMs = 1000, batchSize, batchesPerTurn, capacity } = options
  let added: (() => EventWithOrigin)[] = []
  /** The events that are being inserted, or whose insert has failed. */
  let batch: readonly PreparedEvent[] = []
  let hasFailed = false
  let lost = 0
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  /** How many turns run or wait in `running`. */
  let turns = 0
  /** `stop` was called, and inserts the rest itself. */
  let isStopping = false
  let isStopped = false

  /** Part of the ids of the events, so that a batch never contains the same id twice. */
  const nextNumber = countFromZero()
  const waiting = () => batch.length + added.length

  function takeBatch(): PreparedEvent[] {
    const makes = added.slice(0, batchSize)
    added = added.slice(batchSize)
    return makes.flatMap((make) => {
      try {
        const event = make()
        return [prepareEvent({ ...event, origin: { ...event.origin, nextNumber } })]
      } catch (error) {
        onError(error)
        lost++
        return []
      }
    })
  }
  async function insertBatch(): Promise<void> {
    if (batch.length === 0) batch = takeBatch()
    const [events, isRepeated] = [batch, hasFailed]
    try {
      if (events.length > 0) await store.write(() => insert(events, isRepeated))
      hasFailed = false
    } catch (error) {
      onError(error)
      // After any other error, the same insert would fail again.
      hasFailed = error instanceof StoreError
      if (!hasFailed) lost += events.length
    }
    if (!hasFailed) batch = []
  }
  function* insert(events: readonly PreparedEvent[], isRepeated: boolean): Work<void> {
    const selected = options.select ? yield* options.select(events) : events
    // A commit whose outcome is unknown may have succeeded.
    yield* recordPrepared(isRepeated ? yield* withoutRecorded(selected) : selected)
  }
  async function insertBatches(max: number): Promise<void> {
    for (let count = 0; count < max && waiting() > 0; count++) {
      await insertBatch()
      if (hasFailed) return
    }
  }
  function reportLost(): void {
    if (lost > 0) onLost(lost)
    lost = 0
  }
  /** One turn at a time, because each takes the batch that the previous one may have left. */
  function takeTurn(maxBatches: number): Promise<void> {
    turns++
    running = running
      .then(() => insertBatches(maxBatches))
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
      hasFailed ? retryMs : delayMs,
    ).unref()
  }
  const flush = () => takeTurn(Number.POSITIVE_INFINITY)
  return {
    add(make) {
      const isAccepted = !isStopped && waiting() < capacity
      if (isAccepted) added.push(make)
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
      lost += waiting()
      batch = []
      added = []
      reportLost()
    },
  }
}
