// A connection to an SQLite file: its settings and its prepared statements.
import type { StatementSync } from 'node:sqlite'
import { DatabaseSync } from 'node:sqlite'
import { BoundedMap } from '../../bounded-map.ts'
import type { Clock } from '../clock.ts'
import type { Row, Sql, Value } from '../sql.ts'
import { contentOf } from '../statement/statement.ts'
import type { Template } from '../statement/template.ts'
import { isBusy } from './errors.ts'

export type Connection = {
  db: DatabaseSync
  all(statement: Sql): Row[]
  /** Returns a prepared statement with this text, from the cache if possible. */
  prepare(text: string): StatementSync
  /** Rows of the event log, inserted at the end of the transaction (`deferrable` in sql.ts). */
  deferred: Row[]
}

const cachedStatementLimit = 500
/** Statements with more values than this are rare and large, so they are not cached. */
const cachedValueLimit = 200
const openTimeoutMs = 10_000

export type ConnectionOptions = { isReadOnly: boolean; clock: Clock }

export function connect(file: string, options: ConnectionOptions): Connection {
  const db = openDatabase(file, options)
  const statements = new BoundedMap<string, StatementSync>(cachedStatementLimit)
  const texts = new WeakMap<Template, string>()
  const deferred: Row[] = []

  const prepare = (text: string) => statements.get(text) ?? prepareAndCache(text)

  function prepareAndCache(text: string): StatementSync {
    const statement = prepareUncached(db, text)
    statements.set(text, statement)
    return statement
  }

  function select(template: Template, values: readonly Value[]): Row[] {
    const text = textOf(template, texts)
    const prepared = values.length > cachedValueLimit ? prepareUncached(db, text) : prepare(text)
    return prepared.all(...values) as unknown as Row[] // rows are arrays: setReturnArrays
  }

  /**
   * Runs one statement for each row. A statement that inserts several rows may fail after some of them. To be able to
   * undo these, SQLite copies every page that the statement changes, which took ten times as long when measured.
   */
  function insertRows(template: Template, rows: readonly (readonly Value[])[]): Row[] {
    const statement = prepare(insertTextOf(template, rows[0]?.length ?? 0, texts))
    for (const row of rows) statement.run(...row)
    return []
  }

  return {
    db,
    prepare,
    deferred,
    all(statement) {
      const { template, values, rows, deferral } = contentOf(statement)
      if (deferral) {
        for (const row of rows ?? select(deferral.tuple ?? template, values)) deferred.push(row as Row)
        return []
      }
      return rows ? insertRows(template, rows) : select(template, values)
    },
  }
}

function prepareUncached(db: DatabaseSync, text: string): StatementSync {
  const statement = db.prepare(text)
  statement.setReturnArrays(true)
  return statement
}

function textOf(template: Template, texts: WeakMap<Template, string>): string {
  let text = texts.get(template)
  if (text === undefined) {
    text = template.slice(0, -1).map(withPlaceholder).join('') + (template.at(-1) ?? '')
    texts.set(template, text)
  }
  return text
}

/**
 * SQLite plans a statement by the value of a parameter after `limit`, so it prepares such a statement again for every
 * call, which takes 4 µs. It does not look into a cast.
 */
const withPlaceholder = (piece: string) =>
  /\blimit\s+$/.test(piece) ? `${piece}cast(? as integer)` : `${piece}?`

/** The text of a bulk insert. All rows of a template have the same number of values. */
function insertTextOf(template: Template, valueCount: number, texts: WeakMap<Template, string>): string {
  let text = texts.get(template)
  if (text === undefined) {
    const [head = '', tail = ''] = template
    text = `${head}(${Array<string>(valueCount).fill('?').join(', ')})${tail}`
    texts.set(template, text)
  }
  return text
}

/** Retries, because processes that start together, or after a crash, may find the file locked briefly. */
function openDatabase(file: string, { isReadOnly, clock }: ConnectionOptions): DatabaseSync {
  const deadline = clock.now() + openTimeoutMs
  for (;;) {
    const db = new DatabaseSync(file, {
      readOnly: isReadOnly,
      timeout: 0,
      enableForeignKeyConstraints: true,
    })
    try {
      configure(db, isReadOnly)
      return db
    } catch (error) {
      db.close()
      if (!isBusy(error) || clock.now() > deadline) throw error
      clock.block(5 + clock.random() * 20)
    }
  }
}

/**
 * Commits are synced by durability.ts, and the WAL is checkpointed by checkpoint.ts. If
 * checkpoint.ts falls behind, SQLite itself checkpoints at 256 MB (64,000 pages). A write that
 * finds the whole WAL checkpointed truncates it and starts it again (`journal_size_limit`).
 * `analyze` is never run: every statement is written for one index, and statistics could only make
 * SQLite choose another one.
 */
function configure(db: DatabaseSync, isReadOnly: boolean): void {
  if (!isReadOnly)
    db.exec(
      'pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 64000; pragma journal_size_limit = 0',
    )
  db.exec('pragma cache_size = -8000; pragma temp_store = memory; select 1 from sqlite_schema')
}

/** Runs a command without values, such as `begin`. */
export function execute(connection: Connection, command: string): void {
  connection.prepare(command).run()
}
