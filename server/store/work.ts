// A transaction is a generator that yields SQL and receives rows, so it can wait only for the store. SQLite runs it
// synchronously, and PostgreSQL awaits each step of the same code.
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
 * Throws the error of a violated constraint into the work, at the statement that violated it. The work may throw another
 * error in its place but cannot continue: PostgreSQL has already aborted its transaction, and SQLite behaves the same
 * here.
 */
export function abort(work: Work<unknown>, error: StoreError): never {
  work.throw(error)
  throw new Error('a transaction continued after one of its statements had failed', { cause: error })
}
