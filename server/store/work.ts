// A transaction is a generator that yields SQL and is given rows. So it can wait for nothing but the store,
// the embedded engine runs it in one go, and the same text serves PostgreSQL, where each step is awaited.
import type { Row, Sql } from './sql.ts'

export type Work<T> = Generator<Sql, T, Row[]>

export function* all(statement: Sql): Work<Row[]> {
  return yield statement
}

export function* first(statement: Sql): Work<Row | undefined> {
  const rows = yield statement
  return rows[0]
}
