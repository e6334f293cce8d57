// The interface of a store, which both engines implement.
import type { Portion } from './dump.ts'
import type { Row, Sql } from './sql.ts'
import type { Work } from './work.ts'

export type Migration = { name: string; script: string }

export type Store = {
  readonly engine: 'sqlite' | 'postgres'
  /**
   * Runs one statement that reads. Its snapshot includes every write that resolved before the call. SQLite returns
   * rows rather than a promise, unless another process has locked the file.
   */
  query(statement: Sql): Row[] | Promise<Row[]>
  /** Runs several statements that see the same snapshot. */
  read<T>(work: () => Work<T>): T | Promise<T>
  /**
   * Runs a transaction, which is durable once the promise resolves. The work may run more than once, so it must have no
   * effects but SQL. `deadline` is in milliseconds since 1970.
   */
  write<T>(work: () => Work<T>, deadline?: number): Promise<T>
  /**
   * Applies the missing migrations, only once even if several processes start together. Returns the names it applied.
   */
  migrate(migrations: readonly Migration[]): Promise<string[]>
  /** All rows of these tables in one snapshot, ordered by primary key. Other reads and writes continue meanwhile. */
  snapshot(tables: readonly string[]): AsyncGenerator<Portion>
  close(): Promise<void>
}

export const migrationsTable = `create table if not exists migrations (
  name text primary key,
  apply_time bigint not null
)`

/** Listed as an applied migration while a backup is being restored, so that no server starts on an incomplete store. */
export const unfinishedRestore = 'unfinished-restore'

/** The store must not be used. The error has a code, so that commands print its message without a stack trace. */
class UnusableStoreError extends Error {
  readonly code = 'STORE_IS_UNUSABLE'
}

/**
 * The migrations that have not been applied yet. Throws if the store has migrations that this program does not know.
 */
export function pendingOf(migrations: readonly Migration[], applied: readonly string[]): Migration[] {
  const names = new Set(migrations.map(({ name }) => name))
  const unknownNames = applied.filter((name) => !names.has(name))
  if (unknownNames.includes(unfinishedRestore))
    throw new UnusableStoreError(
      'a restore into this store was interrupted; empty the store and restore again',
    )
  if (unknownNames.length > 0) {
    throw new UnusableStoreError(
      `the store was written by a newer version of Stemma: it has unknown migrations (${unknownNames.join(', ')}); start that version instead`,
    )
  }
  return migrations.filter(({ name }) => !applied.includes(name))
}
