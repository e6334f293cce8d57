import type { Store } from '../store/db.ts'
import type { SealedEvent } from '../store/events/event-row.ts'
import { eventColumns } from '../store/events/event-row.ts'
import { readSealed } from '../store/events/read-sealed.ts'
import { hasUnsealed, sealBatch } from '../store/events/seal.ts'
import { raw } from '../store/sql.ts'

const columns = eventColumns.join(', ')

/** All events, sealed or not, for the clause `from` of a query. */
export const recordedEvents = raw(
  `(select ${columns} from events union all select ${columns} from unsealed_events) as recorded`,
)

/** Seals everything that is recorded, and returns the events of an organization after a sequence number. */
export async function sealedEvents(store: Store, root: string, after = 0): Promise<SealedEvent[]> {
  await sealAll(store)
  return store.read(() => readSealed(root, after, 10_000))
}

/** The server may seal at the same time. */
export async function sealAll(store: Store): Promise<void> {
  while ((await store.query(hasUnsealed)).length > 0) await store.write(() => sealBatch(function* () {}))
}
