// A whole store as lines of JSON: what can be written by one engine and read by the other. The first line says
// which migrations it had; then come its tables, each named before its rows; the last says that it is whole.
import type { Migration, Store } from './db.ts'
import { unfinishedRestore } from './db.ts'
import type { Portion } from './snapshot.ts'
import type { Row, Value } from './sql.ts'
import { sql } from './sql.ts'
import { insertRows } from './table.ts'

const edition = 1

type Line =
  | { stemma: 'backup'; edition: number; migrations: string[] }
  | { table: string; columns: string[] }
  | JsonValue[]
  | { end: number }

type JsonValue = string | number | null | { base64: string }

/** What keeps a backup from being restored; told without a stack. */
export class BackupError extends Error {
  readonly code = 'BACKUP'
}

export async function* backupLines(store: Store): AsyncGenerator<string> {
  const line = (value: Line) => `${JSON.stringify(value)}\n`
  const migrations: string[] = []
  let [last, count] = ['', 0]
  for await (const { table, columns, rows } of store.snapshot()) {
    // Their table is the first, and of the same moment as the others.
    if (table === 'migrations') {
      migrations.push(...rows.map(([name]) => String(name)))
      continue
    }
    if (last === '') yield line({ stemma: 'backup', edition, migrations })
    if (table !== last) yield line({ table, columns })
    last = table
    count += rows.length
    yield rows.map((row) => line(row.map(written))).join('')
  }
  yield line({ end: count })
}

const written = (value: Value): JsonValue =>
  value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value

const read = (value: JsonValue): Value =>
  typeof value === 'object' && value !== null ? Buffer.from(value.base64, 'base64') : value

/** Into a store without anything, which is brought to the state that it had, and no further. Answers the number of rows. */
export async function restoreLines(
  store: Store,
  migrations: readonly Migration[],
  lines: AsyncIterable<string>,
  tell: (count: number) => void,
): Promise<number> {
  let portion: Portion | undefined
  let [count, size, isWhole] = [0, 0, false]

  async function flush(): Promise<void> {
    const { table, columns, rows } = portion ?? { table: '', columns: [], rows: [] }
    if (rows.length === 0) return
    await store.write(() => insertRows(table, columns, rows))
    count += rows.length
    size = 0
    rows.length = 0
    tell(count)
  }

  for await (const text of lines) {
    const line = parse(text)
    if (isWhole) throw new BackupError('the backup goes on after its end')
    if (Array.isArray(line)) {
      if (!portion) throw new BackupError('the backup has rows before a table')
      portion.rows.push(line.map(read) as Row)
      size += text.length
      if (portion.rows.length >= rowsAtOnce || size > sizeAtOnce) await flush()
    } else if ('stemma' in line) await prepare(store, migrations, line)
    else if ('table' in line) {
      await flush()
      portion = { ...line, rows: [] }
    } else {
      await flush()
      if (line.end !== count)
        throw new BackupError(`the backup should have ${line.end} rows and has ${count}`)
      isWhole = true
    }
  }
  if (!isWhole) throw new BackupError('the backup is not whole: its end is missing')
  await store.write(function* () {
    yield sql`delete from migrations where name = ${unfinishedRestore}`
  })
  return count
}

const rowsAtOnce = 500
const sizeAtOnce = 8 * 1024 * 1024

function parse(text: string): Line {
  try {
    return JSON.parse(text)
  } catch {
    throw new BackupError('this is no backup of Stemma, or a broken one')
  }
}

/** Until all is restored, no server starts on it. */
async function prepare(
  store: Store,
  migrations: readonly Migration[],
  { stemma, edition: its, migrations: had }: { stemma: string; edition: number; migrations: string[] },
): Promise<void> {
  if (stemma !== 'backup' || its !== edition)
    throw new BackupError('this is no backup of Stemma, or one of another version')
  const known = migrations.filter(({ name }) => had.includes(name))
  const unknown = had.filter((name) => !known.some((migration) => migration.name === name))
  if (unknown.length > 0)
    throw new BackupError(`the backup is of a newer version of Stemma: it has ${unknown.join(', ')}`)
  if ((await store.migrate(known)).length !== known.length)
    throw new BackupError('the store is not empty: a backup is restored into one without anything')
  await store.write(function* () {
    yield sql`insert into migrations (name, apply_time) values (${unfinishedRestore}, ${Date.now()})`
  })
}
