// What the two engines have in common.
import type { Portion } from './snapshot.ts'
import type { Row, Sql } from './sql.ts'
import type { Work } from './work.ts'

export type Migration = { name: string; script: string }

export type Store = {
  readonly engine: 'sqlite' | 'postgres'
  /**
   * One statement that reads, and sees one moment of the store: none before whatever the caller can know of. The
   * embedded engine answers at once, nearly always.
   */
  query(statement: Sql): Row[] | Promise<Row[]>
  /** Several statements that see the same moment. */
  read<T>(work: () => Work<T>): T | Promise<T>
  /** All or nothing, durable once answered. May run the work again, so it has no effects but SQL. */
  write<T>(work: () => Work<T>, deadline?: number): Promise<T>
  /** Applies what is missing, once, however many copies start together. Answers the names it applied. */
  migrate(migrations: readonly Migration[]): Promise<string[]>
  /** All that is in it at one moment, however long it takes to read; others go on meanwhile. */
  snapshot(): AsyncGenerator<Portion>
  close(): Promise<void>
}

export const migrationsTable = `create table if not exists migrations (
  name text primary key,
  apply_time bigint not null
)`

/** Stands among the migrations while a backup is restored. */
export const unfinishedRestore = 'unfinished-restore'

/** The code marks it as nothing that a stack would explain. */
class ForeignStoreError extends Error {
  readonly code = 'STORE_IS_FOREIGN'
}

/** Which migrations to apply, given those applied before. */
export function pendingOf(migrations: readonly Migration[], applied: readonly string[]): Migration[] {
  const known = new Set(migrations.map(({ name }) => name))
  const foreign = applied.filter((name) => !known.has(name))
  if (foreign.includes(unfinishedRestore))
    throw new ForeignStoreError('a restore into this store was broken off; empty it and restore again')
  if (foreign.length > 0) {
    throw new ForeignStoreError(
      `the store was written by a newer version of Stemma: it has ${foreign.join(', ')}; start that version instead`,
    )
  }
  return migrations.filter(({ name }) => !applied.includes(name))
}
