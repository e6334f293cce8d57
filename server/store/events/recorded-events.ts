// Reads all events of one organization: the sealed ones in the order of their numbers, and then those that are not sealed
// yet.
import type { Store } from '../db.ts'
import { raw, sql } from '../sql.ts'
import type { EventRow } from './event-row.ts'
import { eventColumns, eventOf } from './event-row.ts'

const columns = raw(eventColumns.join(', '))
const rowsPerRead = 200

type Events = AsyncGenerator<EventRow, void, void>

export async function* recordedEvents(store: Store, root: string): Events {
  let lastSequence = 0
  const readUnsealedIds = new Set<string>()

  async function* sealed(): Events {
    for (;;) {
      const rows = await store.query(sql`select ${columns}, sequence from events
        where root = ${root} and sequence > ${lastSequence}
        order by sequence limit ${rowsPerRead}`)
      for (const row of rows) {
        lastSequence = row.at(-1) as number
        const event = eventOf(row)
        if (!readUnsealedIds.has(event.id)) yield event
      }
      if (rows.length < rowsPerRead) return
    }
  }

  async function* unsealed(): Events {
    for (let after = ''; ; ) {
      const rows = await store.query(sql`select ${columns} from unsealed_events
        where root = ${root} and id > ${after} order by id limit ${rowsPerRead}`)
      for (const row of rows) {
        const event = eventOf(row)
        after = event.id
        readUnsealedIds.add(event.id)
        yield event
      }
      if (rows.length < rowsPerRead) return
    }
  }

  yield* sealed()
  yield* unsealed()
  // A running server may have sealed events after the first read and before the second, so that neither returned them.
  yield* sealed()
}
