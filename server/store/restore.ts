// Restores a backup into an empty store.
import { BackupError, fromJson, readBackupLine } from './backup-line.ts'
import type { Migration, Store } from './db.ts'
import { migrationsTable, unfinishedRestore } from './db.ts'
import type { Row } from './sql.ts'
import { raw, sql } from './sql.ts'
import { insertRows } from './table.ts'

export type Restore = {
  store: Store
  /** All migrations of this program. */
  migrations: readonly Migration[]
  lines: AsyncIterable<string>
  now: () => number
  /** Called with the number of rows written so far. */
  onProgress(count: number): void
}

const rowsPerWrite = 500
const jsonCharactersPerWrite = 8 * 1024 * 1024

/** Applies only the migrations that the backup names. Returns the number of restored rows. */
export async function restoreLines(restore: Restore): Promise<number> {
  const writer = openRowWriter(restore)
  let [isBegun, isComplete] = [false, false]
  for await (const text of restore.lines) {
    const line = readBackupLine(text)
    if (isComplete)
      throw new BackupError('the backup is damaged: it has further lines after the line that ends it')
    if ('stemma' in line === isBegun)
      throw new BackupError('the backup is damaged: its first line is missing or repeated')
    isBegun = true
    if (Array.isArray(line)) await writer.add(line.map(fromJson), text.length)
    else if ('stemma' in line) await begin(restore, line)
    else if ('table' in line) await writer.startTable(line.table, line.columns)
    else {
      requireCount(line.end, await writer.flush())
      isComplete = true
    }
  }
  if (!isComplete) throw new BackupError('the backup is incomplete: its end is missing')
  await restore.store.write(function* () {
    yield sql`delete from migrations where name = ${unfinishedRestore}`
  })
  return writer.flush()
}

/** Collects rows and writes many of them in one transaction. */
function openRowWriter({ store, onProgress }: Restore) {
  let table: { name: string; columns: string[] } | undefined
  let rows: Row[] = []
  let [characters, count] = [0, 0]

  /** Returns the number of rows written so far. */
  async function flush(): Promise<number> {
    if (!table || rows.length === 0) return count
    const { name, columns } = table
    await store.write(() => insertRows(name, columns, rows))
    count += rows.length
    characters = 0
    rows = []
    onProgress(count)
    return count
  }

  return {
    flush,
    async startTable(name: string, columns: string[]): Promise<void> {
      await flush()
      table = { name, columns }
    },
    async add(row: Row, lineLength: number): Promise<void> {
      if (!table) throw new BackupError('the backup has rows before the first table')
      if (row.length !== table.columns.length)
        throw new BackupError(`the backup is damaged: a row of ${table.name} has ${row.length} values`)
      rows.push(row)
      characters += lineLength
      if (rows.length >= rowsPerWrite || characters > jsonCharactersPerWrite) await flush()
    },
  }
}

/** Migrates the store, and marks it so that no server starts on it before the restore is complete. */
async function begin(
  { store, migrations, now }: Restore,
  { migrations: applied }: { migrations: string[] },
): Promise<void> {
  const migrationsOfBackup = migrations.filter(({ name }) => applied.includes(name))
  const unknown = applied.filter((name) => !migrationsOfBackup.some((migration) => migration.name === name))
  if (unknown.length > 0)
    throw new BackupError(
      `the backup is of a newer version of Stemma: it has the migrations ${unknown.join(', ')}`,
    )
  // Checked first, so that a store in use is not migrated.
  if (
    !(await isEmpty(store)) ||
    (await store.migrate(migrationsOfBackup)).length !== migrationsOfBackup.length
  )
    throw new BackupError('the store is not empty: a backup can only be restored into an empty store')
  await store.write(function* () {
    yield sql`insert into migrations (name, apply_time) values (${unfinishedRestore}, ${now()})`
  })
}

/** Also true for a store whose restore was interrupted, which `migrate` refuses with an error of its own. */
function isEmpty(store: Store): Promise<boolean> {
  return store.write(function* () {
    yield raw(migrationsTable)
    const names = (yield sql`select name from migrations`).flat()
    return names.length === 0 || names.includes(unfinishedRestore)
  })
}

function requireCount(expected: number, actual: number): void {
  if (expected !== actual) throw new BackupError(`the backup should have ${expected} rows and has ${actual}`)
}
