// Records events in the transaction of the change. server/store/table.ts does so for every resource that is created,
// updated or deleted; other writes call `recordEvent`. Nothing is recorded if the access has no origin: that is upkeep,
// such as rendering rows again.
import type { Sql, Value } from '../sql.ts'
import { among, deferrable, raw, sql } from '../sql.ts'
import type { Work } from '../work.ts'
import type { Origin, WriteAccess } from '../write-access.ts'
import { eventColumns, eventOf } from './event-row.ts'

export type NewEvent = {
  /** The uid of the group in which it happened. The organization is the first segment. */
  group: string
  kind: string
  uid: string
  action: string
  /** 0 if left out. */
  code?: number
  /** Facts that are not fields of the resource. Never secrets. */
  details?: EventDetails
  before?: Uint8Array | null
  after?: Uint8Array | null
}

export type EventDetails = { readonly [name: string]: Json }

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** For functions that record without writing resources. */
export type Recording = Pick<WriteAccess, 'origin'>

export const recordEvent = (access: Recording, event: NewEvent): Work<void> => recordEvents(access, [event])

export function* recordEvents({ origin }: Recording, events: readonly NewEvent[]): Work<void> {
  if (!origin || events.length === 0) return
  yield deferrable(
    insertInto,
    events.map((event) => rowOf(origin, event)),
  )
}

/** An event with its own origin, for events that are recorded without a write access. */
export type EventWithOrigin = NewEvent & { origin: Origin }

export const recordWithOrigins = (events: readonly EventWithOrigin[]): Work<void> =>
  recordPrepared(events.map(prepareEvent))

/** An event with its id. It can be recorded again if it is not known whether it was recorded (`withoutRecorded`). */
export type PreparedEvent = { id: string; root: string; time: number; row: readonly Value[] }

export function prepareEvent(event: EventWithOrigin): PreparedEvent {
  const row = rowOf(event.origin, event)
  const { id, root, time } = eventOf(row)
  return { id, root, time, row }
}

export function* recordPrepared(events: readonly PreparedEvent[]): Work<void> {
  if (events.length === 0) return
  yield deferrable(
    insertInto,
    events.map(({ row }) => row),
  )
}

/**
 * The events that are not recorded yet. The table `events` has no index of ids, so its rows are found by root and time.
 */
export function* withoutRecorded(events: readonly PreparedEvent[]): Work<readonly PreparedEvent[]> {
  if (events.length === 0) return events
  const ids = among(events.map(({ id }) => id))
  const roots = among([...new Set(events.map(({ root }) => root))])
  const times = among([...new Set(events.map(({ time }) => time))])
  const rows = yield sql`select id from unsealed_events where id in ${ids}
    union all select id from events where root in ${roots} and time in ${times} and id in ${ids}`
  const recorded = new Set(rows.map(([id]) => id))
  return events.filter(({ id }) => !recorded.has(id))
}

/** Records one event whose bytes are read by the statement itself, from rows that are in the store at that time. */
export function* recordStored(
  { origin }: Recording,
  event: Omit<NewEvent, 'before' | 'after'>,
  { before, after }: { before: Sql | Uint8Array | null; after: Sql | Uint8Array | null },
): Work<void> {
  if (!origin) return
  const [id, root, group, kind, uid, action, method, actor, description, time, code, details] = factsOf(
    origin,
    event,
  ) as FactValues
  yield deferrable(
    insertInto,
    sql`values (${id}, ${root}, ${group}, ${kind}, ${uid}, ${action}, ${method}, ${actor},
      ${description}, ${time}, ${code}, ${details}, ${before}, ${after})`,
  )
}

const insertInto = raw(`insert into unsealed_events (${eventColumns.join(', ')})`)

const rootLength = 40

const rowOf = (origin: Origin, event: NewEvent): Value[] => [
  ...factsOf(origin, event),
  event.before ?? null,
  event.after ?? null,
]

/** The values of all columns before `before` and `after`. */
type FactValues = [
  ...strings: [string, string, string, string, string, string, string, string, string],
  ...[number, number],
  string | null,
]

function factsOf(origin: Origin, event: NewEvent): Value[] {
  const { group, kind, uid, action, code = 0, details } = event
  const time = origin.now()
  return [
    ...[newEventId(time, origin), group.slice(0, rootLength), group, kind, uid, action],
    ...[origin.method, origin.actor, origin.describe(), time, code],
    details ? JSON.stringify(details) : null,
  ]
}

/**
 * 12 hexadecimal digits of the time in milliseconds, 4 that keep the events of one transaction in order, and 8 random
 * ones.
 */
const newEventId = (time: number, { nextNumber, random }: Origin) =>
  hex(time, 12) + hex(nextNumber() % 0x10000, 4) + random(4).toString('hex')

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')
