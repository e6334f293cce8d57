// Deletes the oldest events of the log. What remains is still a chain: its anchor is the hash of the last deleted event.
import { sql } from '../sql.ts'
import type { Work } from '../work.ts'
import { first } from '../work.ts'

/** Bounds a transaction. */
const rowsPerStep = 500

/**
 * Deletes events of one organization that are older than `cutoff` (milliseconds since 1970). Returns
 * how many, or undefined if no organization has such events. Organizations whose chain another
 * transaction has locked are passed over. Events are deleted only from the start of the chain, so an event is kept
 * at least as long as the one before it.
 */
export function* deleteOldEvents(cutoff: number): Work<number | undefined> {
  const chain = yield* first(sql`select root, first_sequence from event_chains
    where first_time is not null and first_time < ${cutoff} order by first_time limit 1 /*pg for update skip locked */`)
  if (!chain) return undefined
  const [root, firstSequence] = chain as [string, number]
  const rows = (yield sql`select sequence, time, hash from events
    where root = ${root} and sequence >= ${firstSequence}
    order by sequence limit ${rowsPerStep + 1}`) as [number, number, string][]
  const candidates = rows.slice(0, rowsPerStep)
  const firstKept = candidates.findIndex(([, time]) => time >= cutoff)
  const deleted = firstKept === -1 ? candidates : candidates.slice(0, firstKept)
  const next = rows[deleted.length]
  const last = deleted.at(-1)
  if (last) yield sql`delete from events where root = ${root} and sequence <= ${last[0]}`
  const firstTime = next?.[1] ?? null
  if (last)
    yield sql`update event_chains set first_sequence = ${last[0] + 1}, anchor = ${last[2]}, first_time = ${firstTime}
      where root = ${root}`
  else yield sql`update event_chains set first_time = ${firstTime} where root = ${root}`
  return deleted.length
}
