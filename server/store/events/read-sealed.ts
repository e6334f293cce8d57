// Reads sealed events of one organization in the order of their sequence numbers.
import { raw, sql } from '../sql.ts'
import type { Work } from '../work.ts'
import { first } from '../work.ts'
import type { SealedEvent } from './event-row.ts'
import { sealedColumns, sealedEventOf } from './event-row.ts'

const columns = raw(sealedColumns.join(', '))

/** The events after a sequence number, at most `limit`. Keep it low: a row can contain two versions of a resource. */
export function* readSealed(root: string, after: number, limit: number): Work<SealedEvent[]> {
  const rows = yield sql`select ${columns} from events
    where root = ${root} and sequence > ${after} order by sequence limit ${limit}`
  return rows.map(sealedEventOf)
}

export function* readSealedEvent(root: string, sequence: number): Work<SealedEvent | undefined> {
  const row = yield* first(sql`select ${columns} from events
    where root = ${root} and sequence = ${sequence}`)
  return row && sealedEventOf(row)
}
