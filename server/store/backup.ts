// A backup: the whole store as lines of JSON, which either engine can write and read. The first line has the names of
// the applied migrations. Each table is a line with its name and columns, then a line for each row. The last line has
// the total number of rows.
import type { BackupLine } from './backup-line.ts'
import { BackupError, backupEdition, toJson } from './backup-line.ts'
import type { Migration, Store } from './db.ts'
import { dumpedTables } from './migrations.ts'

export async function* backupLines(store: Store, migrations: readonly Migration[]): AsyncGenerator<string> {
  const line = (value: BackupLine) => `${JSON.stringify(value)}\n`
  const applied: string[] = []
  let [lastTable, rowCount] = ['', 0]
  for await (const { table, columns, rows } of store.snapshot(dumpedTables(migrations))) {
    if (table === 'migrations') {
      applied.push(...rows.map(([name]) => String(name)))
      continue
    }
    if (lastTable === '') {
      if (applied.length === 0) throw new BackupError('the store has no list of applied migrations')
      yield line({ stemma: 'backup', edition: backupEdition, migrations: applied })
    }
    if (table !== lastTable) yield line({ table, columns })
    lastTable = table
    rowCount += rows.length
    yield rows.map((row) => line(row.map(toJson))).join('')
  }
  yield line({ end: rowCount })
}
