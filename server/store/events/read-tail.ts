// Reads the sealed events of a group and of everything below it, part by part.
import { raw, sql } from '../sql.ts'
import type { Work } from '../work.ts'
import { first } from '../work.ts'
import type { SealedEvent } from './event-row.ts'
import { sealedColumns, sealedEventOf } from './event-row.ts'

/** The sequence numbers of the first and the last event that are stored for an organization. */
export type ChainEnds = { first: number; last: number }

/** An organization without events has the ends 1 and 0. */
export function* readChainEnds(root: string): Work<ChainEnds> {
  const row = yield* first(sql`select first_sequence, sequence from event_chains where root = ${root}`)
  const [start, last] = (row ?? [1, 0]) as [number, number]
  return { first: start, last }
}

/** Bounds what one statement reads if most events of an organization are in other groups. */
const maxScanned = 1000

/** A row can be as large as two resources, and a part is in memory until the client has read it. */
const maxRows = 50

/** A part of the events, and the sequence number up to which it is complete. */
export type TailPart = { events: SealedEvent[]; through: number }

/** The next events after a sequence number. `last` is the end of the chain. */
export function* readTail(group: string, after: number, last: number): Work<TailPart> {
  const end = Math.min(after + maxScanned, last)
  if (end <= after) return { events: [], through: after }
  const rows = yield sql`select ${columns} from events
    where root = ${group.slice(0, rootLength)} and sequence > ${after} and sequence <= ${end}
      and group_uid >= ${group} and group_uid < ${`${group}0`}
    order by sequence limit ${maxRows}`
  const events = rows.map(sealedEventOf)
  const through = events.length < maxRows ? end : (events.at(-1)?.sequence ?? end)
  return { events, through }
}

const rootLength = 40

const columns = raw(sealedColumns.join(', '))
