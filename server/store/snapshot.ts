import type { Row, Sql } from './sql.ts'
import { raw } from './sql.ts'
import type { Work } from './work.ts'

/** Not run as SQL: engines compare each statement with this object, and answer it with `rowsOfSnapshot`. */
export const snapshotStatement: Sql = raw('select 0 as snapshot')

/**
 * An object that stands for the content of the store: two reads that get the same object see the same rows, so what one
 * of them has read need not be read again. Undefined in a write, and always on PostgreSQL, where it is expensive to
 * find out whether another copy has committed.
 */
export function* currentSnapshot(): Work<object | undefined> {
  const [row] = yield snapshotStatement
  return row?.[0] as unknown as object | undefined // see rowsOfSnapshot
}

/** The answer of an engine to `snapshotStatement`. */
export const rowsOfSnapshot = (snapshot: object | undefined): Row[] =>
  snapshot ? [[snapshot as unknown as Row[number]]] : [] // only currentSnapshot reads it
