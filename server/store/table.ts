// Rows of a resource: each keeps its resource as it leaves, beside the columns it is found and ordered by.
import type { Row, Sql, Value } from './sql.ts'
import { join, raw, sql, tuple } from './sql.ts'
import { adjustTally, dropTally } from './tally.ts'
import type { Work } from './work.ts'

export type Table = {
  /** The SQL table, and the kind under which its rows are tallied. */
  name: string
  /** Columns of its own, beside those that every table has. */
  columns: readonly string[]
  /** Whether other resources lie in its rows, as they do in groups. */
  isPlace: boolean
}

/** A resource as it is stored and as it leaves. */
export type Stored = { proto: Uint8Array; json: string; shape: string }

export type Entry = Stored & {
  uid: string
  parent: string | null
  root: string
  name: string
  createTime: number
  updateTime: number
  /** The values of the table's own columns. */
  columns: readonly Value[]
}

/** The form in which a row is wanted: bytes, or JSON as the contract of this shape writes it. */
export type Form = { kind: 'bytes' } | { kind: 'json'; shape: string }

/** What a row yields: the form that was asked for, or its bytes where its JSON is of another shape. */
export type Leaving = { json: string | null; proto: Uint8Array | null }

/** Only what is wanted is read: the other half of a row costs as much again. */
export function leavingColumns(form: Form): { json: Sql; proto: Sql } {
  if (form.kind === 'bytes') return { json: raw('null'), proto: raw('proto') }
  const isCurrent = `shape = '${form.shape}'`
  return {
    json: raw(`case when ${isCurrent} then json end`),
    proto: raw(`case when ${isCurrent} then null else proto end`),
  }
}

export const leavingOf = ([json, proto]: Row): Leaving => ({ json, proto }) as Leaving // in the order they are selected

const storedColumns = raw('json, shape, proto')

export const storedOf = ([json, shape, proto]: Row): Stored => ({ json, shape, proto }) as Stored // in the order of storedColumns

/** `above` leads from the organization down to the parent. */
export function* insertEntry(table: Table, entry: Entry, above: readonly string[]): Work<void> {
  const columns = [
    'uid',
    'parent',
    'root',
    'name',
    'create_time',
    'update_time',
    'proto',
    'json',
    'shape',
    ...table.columns,
  ]
  const values = [
    ...[entry.uid, entry.parent, entry.root, entry.name, entry.createTime, entry.updateTime],
    ...[entry.proto, entry.json, entry.shape, ...entry.columns],
  ]
  yield sql`insert into ${raw(table.name)} (${raw(columns.join(', '))}) values ${tuple(values)}`
  yield* adjustTally(table.name, above, 1)
}

export function* updateEntry(table: Table, entry: Entry): Work<void> {
  const own = table.columns.map((column, at) => sql`, ${raw(column)} = ${entry.columns[at] ?? null}`)
  yield sql`update ${raw(table.name)} set name = ${entry.name}, update_time = ${entry.updateTime},
    proto = ${entry.proto}, json = ${entry.json}, shape = ${entry.shape}${join(own, '')} where uid = ${entry.uid}`
}

/** Whether there was such a row. Whatever still lies in it must be gone before. */
export function* deleteEntry(table: Table, uid: string, above: readonly string[]): Work<boolean> {
  const rows = yield sql`delete from ${raw(table.name)} where uid = ${uid} returning uid`
  if (rows.length === 0) return false
  yield* adjustTally(table.name, above, -1)
  if (table.isPlace) yield dropTally(uid)
  return true
}

/** Reads a row to change it: nobody else changes it before this transaction ends. */
export const selectForUpdate = (table: Table, uid: string): Sql =>
  sql`select ${storedColumns} from ${raw(table.name)} where uid = ${uid} /*pg for no key update */`

/** Reads a row to delete it: nothing can be put into it before this transaction ends. */
export const selectForDelete = (table: Table, uid: string): Sql =>
  sql`select ${storedColumns} from ${raw(table.name)} where uid = ${uid} /*pg for update */`
