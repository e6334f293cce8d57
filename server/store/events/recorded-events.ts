// Reads all events of one organization: the sealed ones in the order of their numbers, and then those that are not sealed
// yet.
import type { Store } from '../db.ts'
import { raw, sql } from '../sql.ts'
import type { EventRow } from './event-row.ts'
import { eventColumns, eventOf } from './event-row.ts'

const columns = raw(eventColumns.join(', '))
const rowsPerRead = 200

export async function* recordedEvents(store: Store, root: string): AsyncGenerator<EventRow, void, void> {
  for (let after = 0; ; ) {
    const rows = await store.query(sql`select ${columns}, sequence from events
      where root = ${root} and sequence is not null and sequence > ${after} order by sequence limit ${rowsPerRead}`)
    for (const row of rows) yield eventOf(row)
    if (rows.length < rowsPerRead) break
    after = rows.at(-1)?.at(-1) as number
  }
  for (let after = ''; ; ) {
    const rows = await store.query(sql`select ${columns} from events
      where root = ${root} and sequence is null and id > ${after} order by id limit ${rowsPerRead}`)
    for (const row of rows) yield eventOf(row)
    if (rows.length < rowsPerRead) return
    after = rows.at(-1)?.[0] as string
  }
}
