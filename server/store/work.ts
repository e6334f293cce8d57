// A transaction is a generator that yields SQL and is given rows. So it can wait for nothing but the store,
// the embedded engine runs it in one go, and the same text serves PostgreSQL, where each step is awaited.

import type { Row, Sql } from './sql.ts'
import type { StoreError } from './store-error.ts'

export type Work<T> = Generator<Sql, T, Row[]>

export function* all(statement: Sql): Work<Row[]> {
  return yield statement
}

export function* first(statement: Sql): Work<Row | undefined> {
  const rows = yield statement
  return rows[0]
}

/**
 * Tells a work that its statement broke a constraint. It may put the error into other words but not go on: on
 * PostgreSQL its transaction is lost by then, and both engines treat it alike.
 */
export function breakOff(work: Work<unknown>, error: StoreError): never {
  work.throw(error)
  throw new Error('a work went on after one of its statements had failed', { cause: error })
}
