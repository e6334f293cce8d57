// Sealing gives each recorded row the next sequence number of its organization and a hash that covers the row and the
// hash before it. Only sealed rows are read, so a reader that continues after a sequence number never misses the row of
// a slower transaction.
import { among, bulkInsert, join, raw, sql } from '../sql.ts'
import type { Work } from '../work.ts'
import type { EventRow, SealedEvent } from './event-row.ts'
import { chainHash, chainStart, eventColumns, eventOf } from './event-row.ts'

/** Called in the transaction that seals the events, in the order of their sequence numbers for each organization. */
export type FanOut = (events: readonly SealedEvent[]) => Work<void>

/** Bounds a transaction: other writes wait for it on SQLite. */
const batchRows = 256
const batchBytes = 4 * 1024 * 1024

/** `hasMore` if there may be further rows. */
export type Sealed = { count: number; hasMore: boolean }

/** Seals the oldest rows. Returns `busy` if another transaction seals at the moment. */
export function* sealBatch(fanOut: FanOut): Work<Sealed | 'busy'> {
  const lock = yield takeLock
  if (lock.length === 0) return 'busy'
  const { events, hasMore } = yield* readUnsealed()
  if (events.length === 0) return { count: 0, hasMore }
  const sealed = yield* chain(events)
  yield* storeSeals(sealed)
  yield* fanOut(sealed)
  return { count: sealed.length, hasMore }
}

/**
 * One transaction at a time seals, because each hash needs the one before it. The number is that of an advisory lock of
 * PostgreSQL, which ends with the transaction. SQLite has one writer.
 */
const takeLock = raw('/*pg select 1 where pg_try_advisory_xact_lock(7386215) -- */ select 1')

export const hasUnsealed = sql`select 1 from events where sequence is null limit 1`

export const countUnsealed = sql`select count(*) from events where sequence is null`

function* readUnsealed(): Work<{ events: EventRow[]; hasMore: boolean }> {
  const sizes = yield sql`select id, coalesce(length(before), 0) + coalesce(length(after), 0) from events
    where sequence is null order by id limit ${batchRows}`
  const ids: string[] = []
  let bytes = 0
  for (const [id, size] of sizes as [string, number][]) {
    bytes += size
    if (ids.length > 0 && bytes > batchBytes) break
    ids.push(id)
  }
  const hasMore = ids.length < sizes.length || sizes.length === batchRows
  if (ids.length === 0) return { events: [], hasMore }
  const rows = yield sql`select ${columns} from events where id in ${among(ids)} order by id`
  return { events: rows.map(eventOf), hasMore }
}

const columns = raw(eventColumns.join(', '))

type Head = { sequence: number; hash: string }

function* chain(events: readonly EventRow[]): Work<SealedEvent[]> {
  const roots = [...new Set(events.map(({ root }) => root))]
  const rows = yield sql`select root, sequence, hash from event_chains where root in ${among(roots)}`
  const heads = new Map<string, Head>(
    (rows as [string, number, string][]).map(([root, sequence, hash]) => [root, { sequence, hash }]),
  )
  const firstTimes = new Map<string, number>()
  const sealed = events.map((event) => {
    const { root, time } = event
    const head = heads.get(root) ?? { sequence: 0, hash: chainStart }
    const sequence = head.sequence + 1
    const hash = chainHash(head.hash, sequence, event)
    heads.set(root, { sequence, hash })
    if (!firstTimes.has(root)) firstTimes.set(root, time)
    return { ...event, sequence, hash }
  })
  const newHeads = roots.map((root) => {
    const { sequence, hash } = heads.get(root) ?? { sequence: 0, hash: chainStart }
    return [root, sequence, hash, 1, chainStart, firstTimes.get(root) ?? null]
  })
  yield bulkInsert(
    sql`insert into event_chains (root, sequence, hash, first_sequence, anchor, first_time)`,
    newHeads,
    raw(`on conflict (root) do update set sequence = excluded.sequence, hash = excluded.hash,
      first_time = coalesce(event_chains.first_time, excluded.first_time)`),
  )
  return sealed
}

/** Lists of rows have a length that is a power of two, so that there are few different statements. */
const maxSealsPerStatement = 32

function* storeSeals(sealed: readonly SealedEvent[]): Work<void> {
  for (let at = 0; at < sealed.length; ) {
    const count = Math.min(maxSealsPerStatement, 2 ** Math.floor(Math.log2(sealed.length - at)))
    const rows = sealed
      .slice(at, at + count)
      .map(({ id, sequence, hash }) => sql`(${id}, cast(${sequence} as bigint), ${hash})`)
    yield sql`update events set sequence = seal.column2, hash = seal.column3
      from (values ${join(rows, ', ')}) as seal where events.id = seal.column1`
    at += count
  }
}
