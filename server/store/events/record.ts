// Records events in the transaction of the change. table.ts does so for every resource that is created, updated or
// deleted; other writes call `recordEvent`. Nothing is recorded if the access has no origin: that is upkeep, such as
// rendering rows again.
import type { Sql, Value } from '../sql.ts'
import { deferrable, raw, sql } from '../sql.ts'
import type { Work } from '../work.ts'
import type { Origin, WriteAccess } from '../write-access.ts'
import { eventColumns } from './event-row.ts'

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
    events.map((event) => [...factsOf(origin, event), event.before ?? null, event.after ?? null]),
  )
}

/** An event with its own origin, for events that are recorded without a write access. */
export type EventWithOrigin = NewEvent & { origin: Origin }

export function* recordWithOrigins(events: readonly EventWithOrigin[]): Work<void> {
  yield deferrable(
    insertInto,
    events.map((event) => [...factsOf(event.origin, event), event.before ?? null, event.after ?? null]),
  )
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
