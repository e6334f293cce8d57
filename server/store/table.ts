// Rows of a resource: each keeps its resource as it leaves, beside the columns it is found and ordered by.
import type { Row, Sql, Value } from './sql.ts'
import { among, bulkInsert, join, raw, sql } from './sql.ts'
import { adjustTally, dropTally } from './tally.ts'
import type { Work } from './work.ts'
import type { WriteAccess } from './write-access.ts'

export type Table = {
  /** The SQL table, and the kind under which its rows are tallied. */
  name: string
  /** Columns of its own, beside those that every table has. */
  columns: readonly string[]
  /** Whether its rows bear the uids of groups, so that a grant in a group reaches the row of that uid. */
  isAtPlaces: boolean
  /** Whether other resources lie in its rows, as they do in groups. */
  isPlace: boolean
  /** Whether each place has its own index for each order, or only each organization, which makes writing cheaper. */
  isOrderedInPlace: boolean
  /** How a row leaves, as text without values; as it is stored unless the table puts it together from several rows. */
  rendered(form: Form): Sql
}

/** A resource as it is stored and as it leaves. */
export type Stored = { proto: Uint8Array; json: string; shape: string }

/** Values of a table's own columns, by name. */
export type Columns = { readonly [column: string]: Value }

export type Entry = Stored & {
  uid: string
  parent: string | null
  root: string
  name: string
  createTime: number
  updateTime: number
  /** All of the table's own columns for an insert; those that change for an update. */
  columns: Columns
}

/** The form in which a row is wanted: bytes, or JSON as the contract of this shape writes it. */
export type Form = { kind: 'bytes' } | { kind: 'json'; shape: string }

/** A row on its way out: JSON where that was asked for and is of the current shape, else bytes. */
export type Rendered = string | Uint8Array

/** Only what is wanted is read: the other half of a row costs as much again. Null where the shape is another. */
export const storedForm = (form: Form): Sql =>
  form.kind === 'bytes' ? raw('proto') : raw(`case when shape = '${form.shape}' then json end`)

/** One row as it leaves, with the time of its last change. */
export const selectRendered = (table: Table, uid: string, form: Form): Sql =>
  sql`select ${table.rendered(form)}, update_time from ${raw(table.name)} where uid = ${uid}`

/** Rows whose JSON is of another shape, as bytes. */
export function* readBytes(table: Table, uids: readonly string[]): Work<Map<string, Uint8Array>> {
  if (uids.length === 0) return new Map()
  const rows = yield sql`select uid, ${table.rendered({ kind: 'bytes' })} from ${raw(table.name)}
    where uid in ${among(uids)}`
  return new Map(rows as [string, Uint8Array][])
}

/** A row that no other transaction changes before the current one ends. */
export type LockedRow = { proto: Uint8Array; updateTime: number; columns: Columns }

/** Reads a row to change it, with those of the table's own columns that are named. */
export function* readForUpdate(
  table: Table,
  uid: string,
  columns: readonly string[] = [],
): Work<LockedRow | undefined> {
  const [row] = yield sql`${selectLocked(table, uid, columns)} /*pg for no key update */`
  return row && lockedRowOf(row, columns)
}

/** Reads a row to delete it: no other transaction inserts a child of it before the current one ends. */
export function* readForDelete(
  table: Table,
  uid: string,
  columns: readonly string[] = [],
): Work<LockedRow | undefined> {
  const [row] = yield sql`${selectLocked(table, uid, columns)} /*pg for update */`
  return row && lockedRowOf(row, columns)
}

const selectLocked = (table: Table, uid: string, columns: readonly string[]): Sql =>
  sql`select ${raw(['proto', 'update_time', ...columns].join(', '))} from ${raw(table.name)} where uid = ${uid}`

function lockedRowOf([proto, updateTime, ...values]: Row, columns: readonly string[]): LockedRow {
  const named = Object.fromEntries(columns.map((column, at) => [column, values[at] ?? null]))
  return { proto: proto as Uint8Array, updateTime: updateTime as number, columns: named }
}

/** `above` leads from the organization down to the parent. */
export function insertEntry(
  access: WriteAccess,
  table: Table,
  entry: Entry,
  above: readonly string[],
): Work<void> {
  return insertEntries(access, table, [entry], above)
}

const everyColumn = ['uid', 'parent', 'root', 'name', 'create_time', 'update_time', 'proto', 'json', 'shape']
/** Several that lie in the same place. */
export function* insertEntries(
  access: WriteAccess,
  table: Table,
  entries: readonly Entry[],
  above: readonly string[],
): Work<void> {
  yield* insertUncounted(access, table, entries)
  if (entries.length > 0) yield* adjustTally(table.name, above, entries.length)
}

/** Rows that are in no total. */
export const insertUncounted = (_access: WriteAccess, table: Table, entries: readonly Entry[]): Work<void> =>
  insertRows(
    table.name,
    [...everyColumn, ...table.columns],
    entries.map((entry) => valuesOf(table, entry)),
  )

/** Rows of any table. */
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

/** Replaces the resource. Columns of the table's own that the entry does not have keep their value. */
export function* updateEntry(_access: WriteAccess, table: Table, entry: Entry): Work<void> {
  const own = Object.entries(entry.columns).map(([column, value]) => sql`, ${raw(column)} = ${value}`)
  yield sql`update ${raw(table.name)} set name = ${entry.name}, update_time = ${entry.updateTime},
    proto = ${entry.proto}, json = ${entry.json}, shape = ${entry.shape}${join(own, '')} where uid = ${entry.uid}`
}

/** Whether there was such a row. Whatever still lies in it must be gone before. */
export function* deleteEntry(
  _access: WriteAccess,
  table: Table,
  uid: string,
  above: readonly string[],
): Work<boolean> {
  const rows = yield sql`delete from ${raw(table.name)} where uid = ${uid} returning uid`
  if (rows.length === 0) return false
  yield* adjustTally(table.name, above, -1)
  if (table.isPlace) yield dropTally(uid)
  return true
}

/** Deletes all that lies directly in a place. `above` leads from the organization down to the place itself. */
export function* deleteContents(
  _access: WriteAccess,
  table: Table,
  place: string,
  above: readonly string[],
): Work<void> {
  const rows = yield sql`delete from ${raw(table.name)} where parent = ${place} returning uid`
  if (rows.length > 0) yield* adjustTally(table.name, above, -rows.length)
}
