// A backup: the whole store as lines of JSON, which either engine can write and read. The first line has the
// migrations; then every table follows, its name and columns before its rows; the last line has the number of rows.
import type { BackupLine } from './backup-line.ts'
import { backupEdition, toJson } from './backup-line.ts'
import type { Store } from './db.ts'

export async function* backupLines(store: Store): AsyncGenerator<string> {
  const line = (value: BackupLine) => `${JSON.stringify(value)}\n`
  const migrations: string[] = []
  let [last, count] = ['', 0]
  for await (const { table, columns, rows } of store.snapshot()) {
    // The table of migrations is the first.
    if (table === 'migrations') {
      migrations.push(...rows.map(([name]) => String(name)))
      continue
    }
    if (last === '') yield line({ stemma: 'backup', edition: backupEdition, migrations })
    if (table !== last) yield line({ table, columns })
    last = table
    count += rows.length
    yield rows.map((row) => line(row.map(toJson))).join('')
  }
  yield line({ end: count })
}
