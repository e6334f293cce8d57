// The events of an event queue that wait, and their inserts, one batch at a time.
import type { Store } from '../store/db.ts'
import type { EventWithOrigin, PreparedEvent } from '../store/events/record.ts'
import { prepareEvent, recordPrepared, withoutRecorded } from '../store/events/record.ts'
import { StoreError } from '../store/store-error.ts'
import type { Work } from '../store/work.ts'
import { countFromZero } from '../store/write-access.ts'

export type EventBatches = {
  add(make: () => EventWithOrigin): void
  /** How many events wait to be inserted. */
  waiting(): number
  /** Inserts at most `max` batches, until an insert fails. Must not be called again before it has ended. */
  insert(max: number): Promise<void>
  /** Whether the last insert has failed and is to be repeated. */
  hasFailed(): boolean
  /** Loses all events that wait. */
  discard(): void
}

export type EventBatchesOptions = {
  store: Store
  onError(error: unknown): void
  /** How many events one transaction inserts at most. */
  batchSize: number
  /** Returns the events that are to be inserted. Without this function, all are inserted. */
  select?(events: readonly PreparedEvent[]): Work<readonly PreparedEvent[]>
}

/** `lose` is called with the number of events that are lost. */
export function openEventBatches(options: EventBatchesOptions, lose: (count: number) => void): EventBatches {
  const { store, onError, batchSize } = options
  let added: (() => EventWithOrigin)[] = []
  /** The events that are being inserted, or whose insert has failed. */
  let batch: readonly PreparedEvent[] = []
  let hasFailed = false

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
        lose(1)
        return []
      }
    })
  }
  async function insertBatch(): Promise<void> {
    if (batch.length === 0) batch = takeBatch()
    const [events, isRepeated] = [batch, hasFailed]
    try {
      if (events.length > 0) await store.write(() => record(events, isRepeated))
      hasFailed = false
    } catch (error) {
      onError(error)
      // After any other error, the same insert would fail again.
      hasFailed = error instanceof StoreError
      if (!hasFailed) lose(events.length)
    }
    if (!hasFailed) batch = []
  }
  function* record(events: readonly PreparedEvent[], isRepeated: boolean): Work<void> {
    const selected = options.select ? yield* options.select(events) : events
    // A commit whose outcome is unknown may have succeeded.
    yield* recordPrepared(isRepeated ? yield* withoutRecorded(selected) : selected)
  }
  return {
    add: (make) => void added.push(make),
    waiting,
    async insert(max) {
      for (let count = 0; count < max && waiting() > 0; count++) {
        await insertBatch()
        if (hasFailed) return
      }
    },
    hasFailed: () => hasFailed,
    discard() {
      lose(waiting())
      batch = []
      added = []
    },
  }
}
