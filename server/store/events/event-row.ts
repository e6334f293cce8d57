// A row of the event log, and the bytes that its hash covers.
import { hash } from 'node:crypto'
import type { Row } from '../sql.ts'

/** One entry of the audit log, which is also one event for subscriptions. */
export type EventRow = {
  /** Starts with the time; made by the process that records the event. */
  id: string
  /** The organization, or the person, to whose chain the row belongs. */
  root: string
  /** The uid of the group in which it happened. */
  group: string
  /** The table of the resource, such as `role_bindings`; another word if there is no table. */
  kind: string
  /** The uid of the resource. */
  uid: string
  /** `created`, `updated`, `deleted`, or another word such as `accepted`. */
  action: string
  /** The full name of the called method, or the command of the operator. */
  method: string
  /** The uid of the identity; empty for the operator and the server itself. */
  actor: string
  /** An `OriginDetail` as JSON. */
  origin: string
  /** Milliseconds since 1970. */
  time: number
  /** The status code; 0 for success. */
  code: number
  /** Facts that are not fields of the resource, as a JSON object. */
  details: string | null
  /** The resource as protobuf bytes before and after, as responses show it: without INPUT_ONLY fields. */
  before: Uint8Array | null
  after: Uint8Array | null
}

/**
 * The `root` and `group` of events that concern the whole server. No group has this uid, so no
 * caller of the API can read these events; `stemmad audit list` prints them.
 */
export const serverLog = 'server'

/** A row that has its place in the chain of its organization, and never changes again. */
export type SealedEvent = EventRow & { sequence: number; hash: string }

/** The column `origin`. */
export type OriginDetail = {
  door: string
  requestId?: string
  address?: string
  userAgent?: string
  /** The sign-in that the token of the caller comes from. Absent for a workload. */
  signIn?: { person: string; provider?: string }
  /** The claims with which the caller assumed the identity. */
  act?: Readonly<Record<string, string>>
}

/** In the order in which `eventOf` reads them. */
export const eventColumns = [
  ...['id', 'root', 'group_uid', 'kind', 'uid', 'action', 'method', 'actor', 'origin', 'time', 'code'],
  ...['details', 'before', 'after'],
]

export const sealedColumns = [...eventColumns, 'sequence', 'hash']

export function eventOf(row: Row): EventRow {
  const [id, root, group, kind, uid, action, method, actor, origin, time, code, details, before, after] = row
  return {
    id,
    root,
    group,
    kind,
    uid,
    action,
    method,
    actor,
    origin,
    time,
    code,
    details,
    before,
    after,
  } as EventRow // the columns have these types
}

export function sealedEventOf(row: Row): SealedEvent {
  const [sequence, hash] = row.slice(eventColumns.length) as [number, string]
  return { ...eventOf(row), sequence, hash }
}

/** The hash before the first row of a chain. */
export const chainStart = ''

/** The hash of a row, given that of the row before it. Every value is preceded by its length, so none can run into the next. */
export function chainHash(previous: string, sequence: number, event: EventRow): string {
  const start = `stemma-event-1\n${previous}\n${sequence}\n`
  const parts: Uint8Array[] = [textOf(start, event)]
  for (const bytes of [event.before, event.after])
    if (bytes) parts.push(Buffer.from(`${bytes.length}:`), bytes)
    else parts.push(absent)
  return hash('sha256', Buffer.concat(parts)) // takes half as long as an object of `createHash`
}

const absent = Buffer.from('-')

/** Nearly all texts are ASCII, with as many bytes as characters. Only others need the length of each value in bytes. */
function textOf(start: string, event: EventRow): Buffer {
  const text = start + textWith(event, (value) => value.length)
  const bytes = Buffer.from(text)
  return bytes.length === text.length ? bytes : Buffer.from(start + textWith(event, Buffer.byteLength))
}

function textWith(event: EventRow, lengthOf: (value: string) => number): string {
  const { id, root, group, kind, uid, action, method, actor, origin, time, code, details } = event
  let text = ''
  for (const value of [id, root, group, kind, uid, action, method, actor, origin, `${time}`, `${code}`])
    text += `${lengthOf(value)}:${value}\n`
  return text + (details === null ? '-\n' : `${lengthOf(details)}:${details}\n`)
}
