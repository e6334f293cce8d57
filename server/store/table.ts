// The tables of resources. Each row contains its resource as bytes and as JSON, ready to be sent, and columns to find
// and order it by.
import { recordEvents, recordStored } from './events/record.ts'
import { isLiveAt } from './expiry.ts'
import type { Row, Sql, Value } from './sql.ts'
import { among, bulkInsert, join, raw, sql, tuple } from './sql.ts'
import type { Quota } from './tally.ts'
import { adjustTally, dropTally } from './tally.ts'
import { together } from './together.ts'
import type { Work } from './work.ts'
import type { WriteAccess } from './write-access.ts'

export type Table = {
  /** The name of the SQL table; also the kind under which its rows are counted in the tally. */
  name: string
  /** Its own columns, beside those that every table has. */
  columns: readonly string[]
  /** Whether the uid of each row is also the uid of a group, so that a grant in that group applies to the row. */
  hasGroupUids: boolean
  /** How many levels a row is below its group; 1 if left out. It is ignored if `hasGroupUids`. */
  levelsBelowGroup?: number
  /** Whether its rows are the parents of other resources. */
  hasChildren: boolean
  /** Whether rows expire: from its `expire_time` on, a row is treated as if it did not exist. */
  expires?: boolean
  /**
   * Columns that the resource does not show, such as encrypted secrets, with the fields that they contain. Events name
   * these fields without values.
   */
  hiddenFields?: { readonly [column: string]: string }
  /**
   * Whether each sort order has an index by parent. If not, it has one by organization only, which makes writes
   * cheaper.
   */
  isIndexedByParent: boolean
  /** An SQL expression of a row as it is sent. It has no placeholders, and may join fields from rows of other tables. */
  rendered(form: Form): Sql
}

/** Values of a table's own columns, by name. */
export type Columns = { readonly [column: string]: Value }

export type Entry = {
  uid: string
  parent: string | null
  root: string
  name: string
  createTime: number
  updateTime: number
  proto: Uint8Array
  json: string
  /** Identifies the message definition that rendered `json`. */
  shape: string
  /** All of the table's own columns for an insert; those that change for an update. */
  columns: Columns
}

/** The form in which rows are read: bytes, or JSON that was rendered with this shape. */
export type Form = { kind: 'bytes' } | { kind: 'json'; shape: string }

/** A row as it is sent: JSON, or bytes if that was asked for or the JSON has another shape. */
export type Rendered = string | Uint8Array

/** Selects only the wanted form: reading both takes twice as long. Null if the JSON has another shape. */
export const storedForm = (form: Form): Sql =>
  form.kind === 'bytes' ? raw('proto') : raw(`case when shape = '${form.shape}' then json end`)

/** Reads a row as it is sent, and its update time. */
export const selectRendered = (table: Table, uid: string, form: Form): Sql =>
  sql`select ${table.rendered(form)}, update_time from ${raw(table.name)} where uid = ${uid}`

/** Reads rows as bytes, such as rows whose JSON has another shape. */
export function* readBytes(table: Table, uids: readonly string[]): Work<Map<string, Uint8Array>> {
  return uids.length === 0 ? new Map() : yield* renderedRows(table, among(uids))
}

function* renderedRows(table: Table, uids: Sql): Work<Map<string, Uint8Array>> {
  const rows =
    yield sql`select uid, ${table.rendered({ kind: 'bytes' })} from ${raw(table.name)} where uid in ${uids}`
  return new Map(rows as [string, Uint8Array][])
}

/** A row that no other transaction changes before the current one ends. */
export type LockedRow = { proto: Uint8Array; updateTime: number; columns: Columns }

/** `columns` are the table's own columns to read. With `liveAt`, a row that has expired at this time is not read. */
export type LockOptions = { columns?: readonly string[]; liveAt?: number }

/** Reads a row in order to change it. */
export function* readForUpdate(
  table: Table,
  uid: string,
  options: LockOptions = {},
): Work<LockedRow | undefined> {
  const [row] = yield sql`${selectLocked(table, uid, options)} /*pg for no key update */`
  return row && lockedRowOf(row, options)
}

/** Reads a row in order to delete it: no other transaction inserts a child of it before the current one ends. */
export function* readForDelete(
  table: Table,
  uid: string,
  options: LockOptions = {},
): Work<LockedRow | undefined> {
  const [row] = yield sql`${selectLocked(table, uid, options)} /*pg for update */`
  return row && lockedRowOf(row, options)
}

function selectLocked(table: Table, uid: string, { columns = [], liveAt }: LockOptions): Sql {
  const selected = raw(['proto', 'update_time', ...columns].join(', '))
  const statement = sql`select ${selected} from ${raw(table.name)} where uid = ${uid}`
  return table.expires && liveAt !== undefined ? sql`${statement} and ${isLiveAt(liveAt)}` : statement
}

function lockedRowOf([proto, updateTime, ...values]: Row, { columns = [] }: LockOptions): LockedRow {
  const named = Object.fromEntries(columns.map((column, at) => [column, values[at] ?? null]))
  return { proto: proto as Uint8Array, updateTime: updateTime as number, columns: named }
}

/** Like `insertEntries`, for one row. */
export function insertEntry(
  access: WriteAccess,
  table: Table,
  entry: Entry,
  ancestors: readonly string[],
): Work<readonly Quota[]> {
  return insertEntries(access, table, [entry], ancestors)
}

/**
 * Inserts rows with the same parent. `ancestors` are the uids from the organization down to the parent. Returns the
 * quotas that `adjustTally` has found.
 */
export function* insertEntries(
  access: WriteAccess,
  table: Table,
  entries: readonly Entry[],
  ancestors: readonly string[],
): Work<readonly Quota[]> {
  if (entries.length === 0) return []
  const counted = adjustTally(table.name, ancestors, entries.length)
  const [, quotas] = yield* together(insertUncounted(access, table, entries), counted)
  return quotas
}

const commonColumns = [
  ...['uid', 'parent', 'root', 'name', 'create_time', 'update_time', 'proto', 'json', 'shape'],
]

/** Inserts rows without counting them in the tally. */
export function* insertUncounted(access: WriteAccess, table: Table, entries: readonly Entry[]): Work<void> {
  const columns = [...commonColumns, ...table.columns]
  const inserted = insertRows(
    table.name,
    columns,
    entries.map((entry) => valuesOf(table, entry)),
  )
  yield* together(inserted, ...eventsOfInserts(access, table, entries))
}

/** Works that record the events of new rows. */
function eventsOfInserts(access: WriteAccess, table: Table, entries: readonly Entry[]): Work<void>[] {
  if (!access.origin) return []
  const eventOf = (entry: Entry) => ({
    ...factsOf(table, entry.uid, 'created'),
    ...detailsOf(table, entry, (value) => value !== ''),
  })
  if (isStoredWhole(table)) {
    const events = entries.map((entry) => ({ ...eventOf(entry), after: entry.proto }))
    return [recordEvents(access, events)]
  }
  return entries.map((entry) =>
    recordStored(access, eventOf(entry), { before: null, after: renderedBytes(table, entry.uid) }),
  )
}

/** Whether the stored bytes of a row are the whole resource: no fields of other rows are joined to it. */
export const isStoredWhole = ({ rendered }: Table) => rendered === storedForm

const renderedBytes = (table: Table, uid: string): Sql =>
  sql`(select ${table.rendered({ kind: 'bytes' })} from ${raw(table.name)} where uid = ${uid})`

/**
 * The fields of the event of a write. The deletion of a group is an event of the group above it,
 * if there is one. Other resources can also have the uid of a group (`hasGroupUids`), but have no
 * children; their deletion is an event of this group.
 */
function factsOf(table: Table, uid: string, action: string) {
  const isDeletedGroup = table.hasGroupUids && table.hasChildren && action === 'deleted'
  const group = isDeletedGroup ? withoutSegments(uid, 1) : groupOf(table, uid)
  return { kind: table.name, uid, action, group }
}

/** The group of a row; the row itself if it has none, such as a person. */
export const groupOf = ({ hasGroupUids, levelsBelowGroup = 1 }: Table, uid: string): string =>
  hasGroupUids ? uid : withoutSegments(uid, levelsBelowGroup)

const withoutSegments = (uid: string, count: number) =>
  uid.slice(0, Math.max(rootLength, uid.length - count * segmentLength))

/** Names the hidden fields that a write sets. */
function detailsOf(
  { hiddenFields }: Table,
  { columns }: Entry,
  isSet: (value: Value) => boolean = () => true,
) {
  if (!hiddenFields) return {}
  const hidden = Object.entries(hiddenFields).flatMap(([column, field]) => {
    const value = columns[column]
    return value !== undefined && isSet(value) ? field : []
  })
  return hidden.length > 0 ? { details: { hidden } } : {}
}

/** The lengths of the parts of a uid, see server/aip/uid.ts. */
const rootLength = 40
const segmentLength = 17

/** Inserts rows into any table. */
export function* insertRows(
  name: string,
  columns: readonly string[],
  rows: readonly (readonly Value[])[],
): Work<void> {
  const into = raw(`${name} (${columns.join(', ')})`)
  if (rows.length > 0) yield bulkInsert(sql`insert into ${into}`, rows)
}

const valuesOf = (table: Table, entry: Entry): Value[] => [
  ...[entry.uid, entry.parent, entry.root, entry.name, entry.createTime, entry.updateTime],
  ...[entry.proto, entry.json, entry.shape],
  ...table.columns.map((column) => requireValue(table, entry, column)),
]

function requireValue({ name }: Table, { columns }: Entry, column: string): Value {
  const value = columns[column]
  if (value === undefined) throw new Error(`an insert into ${name} has no value for ${column}`)
  return value
}

/** Replaces the resource. Own columns of the table that the entry does not contain keep their value. */
export function* updateEntry(access: WriteAccess, table: Table, entry: Entry): Work<void> {
  const { uid } = entry
  const isRecorded = access.origin !== undefined
  const event = { ...factsOf(table, uid, 'updated'), ...detailsOf(table, entry) }
  const stored = renderedBytes(table, uid)
  const isWhole = isStoredWhole(table)
  const before = isRecorded && !isWhole ? yield* readRendered(table, uid) : null
  if (isWhole) yield* recordStored(access, event, { before: stored, after: entry.proto })
  const ownColumns = Object.entries(entry.columns).map(([column, value]) => sql`, ${raw(column)} = ${value}`)
  yield sql`update ${raw(table.name)} set name = ${entry.name}, update_time = ${entry.updateTime},
    proto = ${entry.proto}, json = ${entry.json}, shape = ${entry.shape}${join(ownColumns, '')} where uid = ${uid}`
  if (!isWhole) yield* recordStored(access, event, { before, after: stored })
}

function* readRendered(table: Table, uid: string): Work<Uint8Array | null> {
  return (yield* readBytes(table, [uid])).get(uid) ?? null
}

/** Returns whether the row existed. Its children must have been deleted before. */
export function* deleteEntry(
  access: WriteAccess,
  table: Table,
  uid: string,
  ancestors: readonly string[],
): Work<boolean> {
  const rows = yield* deleteRows(access, table, tuple([uid]))
  if (rows === 0) return false
  yield* adjustTally(table.name, ancestors, -1)
  if (table.hasChildren) yield dropTally(uid)
  return true
}

/**
 * Deletes rows of one parent, and ignores uids without a row. `ancestors` are the uids from the
 * organization down to the parent itself.
 */
export function* deleteEntries(
  access: WriteAccess,
  table: Table,
  uids: readonly string[],
  ancestors: readonly string[],
): Work<void> {
  const deleted = yield* deleteRows(access, table, among(uids))
  if (deleted > 0) yield* adjustTally(table.name, ancestors, -deleted)
}

/**
 * Deletes at most `limit` children of a parent, and returns their number. `ancestors` are the uids from the organization
 * down to the parent itself.
 */
export function* deleteChildren(
  access: WriteAccess,
  table: Table,
  parent: string,
  { ancestors, limit }: { ancestors: readonly string[]; limit: number },
): Work<number> {
  const children = sql`select uid from ${raw(table.name)} where parent = ${parent} order by uid limit ${limit}`
  const deleted = yield* deleteRows(access, table, sql`(${children})`)
  if (deleted > 0) yield* adjustTally(table.name, ancestors, -deleted)
  return deleted
}

/** Deletes the rows with these uids, records the deletions, and returns the number of rows. */
function* deleteRows(access: WriteAccess, table: Table, uids: Sql): Work<number> {
  const name = raw(table.name)
  const isWhole = isStoredWhole(table)
  const joined = access.origin && !isWhole ? yield* renderedRows(table, uids) : undefined
  const returned = access.origin && isWhole ? raw('uid, proto') : raw('uid')
  const rows = yield sql`delete from ${name} where uid in ${uids} returning ${returned}`
  const events = (rows as [string, Uint8Array?][]).map(([uid, proto]) => ({
    ...factsOf(table, uid, 'deleted'),
    before: proto ?? joined?.get(uid) ?? null,
  }))
  yield* recordEvents(access, events)
  return rows.length
}
