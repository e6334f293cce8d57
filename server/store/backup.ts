// A backup: the whole store as lines of JSON, which either engine can write and read. The first line has the names of
// the applied migrations. Each table is a line with its name and columns, then a line for each row. The last line has
// the total number of rows.
import type { BackupLine } from './backup-line.ts'
import { backupEdition, toJson } from './backup-line.ts'
import type { Store } from './db.ts'

export async function* backupLines(store: Store): AsyncGenerator<string> {
  const line = (value: BackupLine) => `${JSON.stringify(value)}\n`
  const migrations: string[] = []
  let [lastTable, rowCount] = ['', 0]
  for await (const { table, columns, rows } of store.snapshot()) {
    // A snapshot starts with the table of migrations.
    if (table === 'migrations') {
      migrations.push(...rows.map(([name]) => String(name)))
      continue
    }
    if (lastTable === '') yield line({ stemma: 'backup', edition: backupEdition, migrations })
    if (table !== lastTable) yield line({ table, columns })
    lastTable = table
    rowCount += rows.length
    yield rows.map((row) => line(row.map(toJson))).join('')
  }
  yield line({ end: rowCount })
}
