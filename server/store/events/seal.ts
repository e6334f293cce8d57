// Sealing gives each recorded row the next sequence number of its organization and a hash that covers the row and the
// hash before it, and moves it from `unsealed_events` to `events`. The API and deliveries read only
// sealed rows, so a reader that continues after a sequence number never misses the row of a slower
// transaction.
import { hasIdleQueues, wakeQueuesOf } from '../delivery/queues.ts'
import type { Row } from '../sql.ts'
import { among, bulkInsert, join, raw, sql } from '../sql.ts'
import type { Work } from '../work.ts'
import type { EventRow, SealedEvent } from './event-row.ts'
import { chainHash, chainStart, eventColumns, eventOf, sealedColumns } from './event-row.ts'

/**
 * Called in the transaction that seals the events. The events of an organization are in the order
 * of their sequence numbers.
 */
export type FanOut = (events: readonly SealedEvent[]) => Work<void>

/** Bounds a transaction: other writes wait for it on SQLite. */
const batchRows = 256
const batchBytes = 4 * 1024 * 1024

/** `hasMore` if there may be further rows. */
export type Sealed = { count: number; hasMore: boolean }

/** Seals the oldest rows. Returns `busy` if another transaction is sealing. */
export function* sealBatch(fanOut: FanOut): Work<Sealed | 'busy'> {
  const lock = yield takeLock
  if (lock.length === 0) return 'busy'
  const { events, hasMore } = yield* readUnsealed()
  if (events.length === 0) return { count: 0, hasMore }
  const { seals } = yield* chain(events)
  const sealed = events.map((event, at): SealedEvent => {
    const [sequence, hash] = seals[at] ?? beforeFirst
    return { ...event, sequence, hash }
  })
  yield* storeSealed(sealed)
  yield* fanOut(sealed)
  return { count: sealed.length, hasMore }
}

/**
 * One transaction at a time seals, because each hash needs the one before it. The number is that of an advisory lock of
 * PostgreSQL, which ends with the transaction. SQLite has one writer.
 */
const takeLock = raw('/*pg select 1 where pg_try_advisory_xact_lock(7386215) -- */ select 1')

export const hasUnsealed = sql`select 1 from unsealed_events limit 1`

export const countUnsealed = sql`select count(*) from unsealed_events`

/** The number of events that were ever sealed, including those that retention has deleted. */
export function* countRecorded(): Work<number> {
  const [row] = yield sql`select coalesce(sum(sequence), 0) from event_chains`
  return Number(row?.[0])
}

function* readUnsealed(): Work<{ events: EventRow[]; hasMore: boolean }> {
  const sizes = yield sql`select id, coalesce(length(before), 0) + coalesce(length(after), 0)
    from unsealed_events order by id limit ${batchRows}`
  const ids: string[] = []
  let bytes = 0
  for (const [id, size] of sizes as [string, number][]) {
    bytes += size
    if (ids.length > 0 && bytes > batchBytes) break
    ids.push(id)
  }
  const hasMore = ids.length < sizes.length || sizes.length === batchRows
  if (ids.length === 0) return { events: [], hasMore }
  const rows = yield sql`select ${columns} from unsealed_events where id in ${among(ids)} order by id`
  return { events: rows.map(eventOf), hasMore }
}

const columns = raw(eventColumns.join(', '))

/**
 * Seals new rows, inserts them, and wakes the subscriptions that can get them. Only for SQLite,
 * where no other transaction writes meanwhile. If another process or an older version has left
 * unsealed rows, the new rows are inserted unsealed as well, so that they are sealed after those.
 */
export function* insertSealed(rows: readonly Row[]): Work<void> {
  const waiting = yield hasUnsealed
  if (waiting.length > 0) {
    yield bulkInsert(insertUnsealed, rows)
    return
  }
  const events = rows.map(eventOf)
  const { seals, roots } = yield* chain(events)
  yield bulkInsert(
    insertWithSeal,
    rows.map((row, at) => [...row, ...(seals[at] as Seal)]), // chain returns one for each event
  )
  for (const root of roots)
    if (yield* hasIdleQueues(root))
      yield* wakeQueuesOf(
        events.filter((event) => event.root === root),
        events.at(-1)?.time ?? 0,
      )
}

const insertUnsealed = raw(`insert into unsealed_events (${eventColumns.join(', ')})`)
const insertWithSeal = raw(`insert into events (${sealedColumns.join(', ')})`)

type Seal = readonly [sequence: number, hash: string]

/** Continues the chains of the organizations. Returns the seal of each event. */
function* chain(events: readonly EventRow[]): Work<{ seals: Seal[]; roots: string[] }> {
  const firstTimes = new Map<string, number>()
  for (const { root, time } of events) if (!firstTimes.has(root)) firstTimes.set(root, time)
  const roots = [...firstTimes.keys()]
  const rows = yield sql`select root, sequence, hash from event_chains where root in ${among(roots)}`
  const heads = new Map<string, Seal>(
    (rows as [string, number, string][]).map(([root, sequence, hash]) => [root, [sequence, hash]]),
  )
  const seals = events.map((event): Seal => {
    const [last, previous] = heads.get(event.root) ?? beforeFirst
    const seal: Seal = [last + 1, chainHash(previous, last + 1, event)]
    heads.set(event.root, seal)
    return seal
  })
  yield bulkInsert(
    sql`insert into event_chains (root, sequence, hash, first_sequence, anchor, first_time)`,
    [...firstTimes].map(([root, time]) => [root, ...(heads.get(root) ?? beforeFirst), 1, chainStart, time]),
    raw(`on conflict (root) do update set sequence = excluded.sequence, hash = excluded.hash,
      first_time = coalesce(event_chains.first_time, excluded.first_time)`),
  )
  return { seals, roots }
}

const beforeFirst: Seal = [0, chainStart]

/** Lists of rows have a length that is a power of two, so that there are few different statements. */
const maxRowsPerStatement = 32

/** Moves the rows into the log. */
function* storeSealed(sealed: readonly SealedEvent[]): Work<void> {
  for (let at = 0; at < sealed.length; ) {
    const count = Math.min(maxRowsPerStatement, 2 ** Math.floor(Math.log2(sealed.length - at)))
    const seals = sealed
      .slice(at, at + count)
      .map(({ id, sequence, hash }) => sql`(${id}, cast(${sequence} as bigint), ${hash})`)
    yield sql`insert into events (${sealedColumnNames}) select ${columns}, seal.column2, seal.column3
      from unsealed_events join (values ${join(seals, ', ')}) as seal on id = seal.column1`
    at += count
  }
  yield sql`delete from unsealed_events where id in ${among(sealed.map(({ id }) => id))}`
}

const sealedColumnNames = raw(sealedColumns.join(', '))
