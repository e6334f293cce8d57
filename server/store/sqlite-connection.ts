// One connection of the embedded engine: its settings, its prepared statements, and what its errors mean.
import type { StatementSync } from 'node:sqlite'
import { DatabaseSync } from 'node:sqlite'
import type { Row, Sql, Value } from './sql.ts'
import { contentOf } from './statement/statement.ts'
import type { Template } from './statement/template.ts'
import { StoreError } from './store-error.ts'
import type { Work } from './work.ts'
import { breakOff } from './work.ts'

export type Connection = {
  db: DatabaseSync
  all(statement: Sql): Row[]
  prepare(text: string): StatementSync
}

const mostStatements = 500
/** A statement with more values is rare and large, and prepared each time. */
const mostValuesKept = 200
const openTimeout = 10_000

export function connect(file: string, readOnly: boolean): Connection {
  const db = openWithRetry(file, readOnly)
  const statements = new Map<string, StatementSync>()

  function prepare(text: string): StatementSync {
    const known = statements.get(text)
    if (known) return known
    const statement = makeStatement(text)
    if (statements.size >= mostStatements) statements.delete(statements.keys().next().value as string) // not empty
    statements.set(text, statement)
    return statement
  }

  function makeStatement(text: string): StatementSync {
    const statement = db.prepare(text)
    statement.setReturnArrays(true)
    return statement
  }

  /**
   * Each row with a statement of its own: one that may break off after some of its rows makes the engine copy
   * every page it touches, and costs ten times as much.
   */
  function insertAll([head, tail]: Template, rows: readonly (readonly Value[])[]): Row[] {
    const statement = prepare(`${head}(${(rows[0] ?? []).map(() => '?').join(', ')})${tail}`)
    for (const row of rows) statement.run(...row)
    return []
  }

  return {
    db,
    prepare,
    all(sql) {
      const { template, values, rows } = contentOf(sql)
      if (rows) return insertAll(template, rows)
      const text = textOf(template)
      const statement = values.length > mostValuesKept ? makeStatement(text) : prepare(text)
      return statement.all(...(values as Value[])) as unknown as Row[] // rows are arrays: setReturnArrays
    },
  }
}

/**
 * Processes that start together, or after a crash, may find the file locked for a moment. Statistics are not
 * gathered at any time: our statements are written for an index each, which they could only argue with. The log may
 * grow to 64 MB before it is brought home, since most of its pages are written again and again.
 */
function openWithRetry(file: string, readOnly: boolean): DatabaseSync {
  for (const since = Date.now(); ; ) {
    const db = new DatabaseSync(file, { readOnly, timeout: 0, enableForeignKeyConstraints: true })
    try {
      if (!readOnly)
        db.exec('pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 16000')
      db.exec('pragma cache_size = -8000; pragma temp_store = memory; select 1 from sqlite_schema')
      return db
    } catch (error) {
      db.close()
      if (!isBusy(error) || Date.now() - since > openTimeout) throw error
      // Nothing is served yet, so nobody minds that this thread sleeps.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 + Math.random() * 20)
    }
  }
}

const texts = new WeakMap<Template, string>()

function textOf(template: Template): string {
  let text = texts.get(template)
  if (text === undefined) {
    text = template.join('?')
    texts.set(template, text)
  }
  return text
}

/** A command without values, such as `begin`. */
export const run = (connection: Connection, command: string): void => {
  connection.prepare(command).run()
}

/** `onWrite` hears of every statement that may do more than read. */
export function drive<T>(connection: Connection, work: Work<T>, onWrite?: () => void): T {
  let step = work.next()
  while (!step.done) {
    if (onWrite && !isRead(step.value)) onWrite()
    step = work.next(answer(connection, work, step.value))
  }
  return step.value
}

const isRead = (statement: Sql) => contentOf(statement).template[0]?.startsWith('select') ?? false

function answer(connection: Connection, work: Work<unknown>, statement: Sql): Row[] {
  try {
    return connection.all(statement)
  } catch (error) {
    const told = translate(error)
    if (told instanceof StoreError && told.kind !== 'unavailable') return breakOff(work, told)
    throw error
  }
}

type SqliteError = Error & { errcode?: number }

const busy = 5
/** No memory, a disk that fails or is full, a file that cannot be opened. */
const unavailable = [7, 10, 13, 14]
const constraintForeignKey = 787
const constraintUnique = 2067
const constraintPrimaryKey = 1555

const codeOf = (error: unknown) => (error as SqliteError).errcode ?? 0

export const isBusy = (error: unknown) => (codeOf(error) & 0xff) === busy

export function translate(error: unknown): unknown {
  switch (codeOf(error)) {
    case constraintForeignKey:
      return new StoreError('foreign-key', error)
    case constraintUnique:
    case constraintPrimaryKey:
      return new StoreError('unique', error)
    default:
      return isBusy(error) || unavailable.includes(codeOf(error) & 0xff)
        ? new StoreError('unavailable', error)
        : error
  }
}
