// The embedded engine: one connection that reads, one that writes. Writes that wait together share a commit,
// each in its own savepoint, so that a durable write costs a share of an fsync.

import type { StatementSync } from 'node:sqlite'
import { DatabaseSync } from 'node:sqlite'
import type { Store } from './db.ts'
import { migrationsTable, pendingOf, StoreError } from './db.ts'
import type { Row, Sql, Value } from './sql.ts'
import { sql } from './sql.ts'
import type { Work } from './work.ts'

const mostWritesInACommit = 256
const mostWritesWaiting = 10_000
const mostStatements = 500
const lockPatience = 10_000

type Job = {
  work: () => Work<unknown>
  deadline: number
  settle: (outcome: Outcome) => void
}

type Outcome = { value: unknown } | { error: unknown }

export function openSqlite(file: string): Store {
  const writer = connect(file, false)
  const reader = connect(file, true)
  const waiting: Job[] = []
  let flushing: NodeJS.Immediate | NodeJS.Timeout | undefined
  let lockedSince: number | undefined

  function flush(): void {
    flushing = undefined
    if (waiting.length === 0) return
    if (!begin()) return
    const batch = waiting.splice(0, mostWritesInACommit)
    const outcomes = batch.map(attempt)
    const failure = commit()
    batch.forEach((job, at) => {
      job.settle(failure ?? (outcomes[at] as Outcome)) // one outcome for each job
    })
    if (waiting.length > 0) schedule()
  }

  /** Another process may hold the lock (`stemmad bootstrap`): come back later, and let others go on meanwhile. */
  function begin(): boolean {
    try {
      writer.exec('begin immediate')
      lockedSince = undefined
      return true
    } catch (error) {
      if (!isBusy(error)) {
        for (const job of waiting.splice(0)) job.settle({ error })
        return false
      }
      lockedSince ??= Date.now()
      if (Date.now() - lockedSince > lockPatience) {
        lockedSince = undefined
        for (const job of waiting.splice(0)) job.settle({ error: new StoreError('unavailable', error) })
      } else flushing = setTimeout(flush, 5)
      return false
    }
  }

  function attempt(job: Job): Outcome {
    if (Date.now() > job.deadline) return { error: new StoreError('deadline') }
    writer.exec('savepoint job')
    try {
      const value = drive(writer, job.work())
      writer.exec('release job')
      return { value }
    } catch (error) {
      writer.exec('rollback to job')
      writer.exec('release job')
      return { error: translate(error) }
    }
  }

  function commit(): Outcome | undefined {
    try {
      writer.exec('commit')
      return undefined
    } catch (error) {
      if (writer.isTransaction) writer.exec('rollback')
      return { error: new StoreError('unavailable', error) }
    }
  }

  function schedule(): void {
    flushing ??= setImmediate(flush)
  }

  function write<T>(work: () => Work<T>, deadline = Number.POSITIVE_INFINITY): Promise<T> {
    if (waiting.length >= mostWritesWaiting) return Promise.reject(new StoreError('unavailable'))
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome) =>
        'error' in outcome ? reject(outcome.error) : resolve(outcome.value as T)
      waiting.push({ work, deadline, settle })
      schedule()
    })
  }

  return {
    engine: 'sqlite',
    query: async (statement) => runStatement(reader, statement),
    async read(work) {
      reader.exec('begin')
      try {
        return drive(reader, work())
      } finally {
        reader.exec('commit')
      }
    },
    write,
    migrate: (migrations) =>
      write(function* () {
        writer.exec(migrationsTable)
        const applied = (yield sql`select name from migrations`).map(([name]) => name as string)
        const pending = pendingOf(migrations, applied)
        for (const { name, script } of pending) {
          writer.exec(script)
          yield sql`insert into migrations (name, apply_time) values (${name}, ${Date.now()})`
        }
        return pending.map(({ name }) => name)
      }),
    async close() {
      while (waiting.length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
      if (flushing) clearImmediate(flushing as NodeJS.Immediate)
      reader.close()
      writer.exec('pragma optimize')
      writer.close()
    },
  }
}

type Connection = DatabaseSync & { statements?: Map<string, StatementSync> }

function connect(file: string, readOnly: boolean): Connection {
  const db: Connection = new DatabaseSync(file, { readOnly, timeout: 0, enableForeignKeyConstraints: true })
  if (!readOnly) db.exec('pragma journal_mode = wal; pragma synchronous = full')
  db.exec('pragma cache_size = -16000; pragma temp_store = memory')
  db.statements = new Map()
  return db
}

function drive<T>(db: Connection, work: Work<T>): T {
  let step = work.next()
  while (!step.done) {
    let rows: Row[]
    try {
      rows = runStatement(db, step.value)
    } catch (error) {
      step = work.throw(translate(error))
      continue
    }
    step = work.next(rows)
  }
  return step.value
}

const texts = new WeakMap<readonly string[], string>()

function runStatement(db: Connection, { pieces, values }: Sql): Row[] {
  let text = texts.get(pieces)
  if (text === undefined) {
    text = pieces.join('?')
    if (Object.isFrozen(pieces)) texts.set(pieces, text)
  }
  return prepare(db, text).all(...(values as Value[])) as unknown as Row[] // rows are arrays: setReturnArrays
}

function prepare(db: Connection, text: string): StatementSync {
  const statements = db.statements as Map<string, StatementSync> // set by connect
  const known = statements.get(text)
  if (known) return known
  const statement = db.prepare(text)
  statement.setReturnArrays(true)
  if (statements.size >= mostStatements) statements.delete(statements.keys().next().value as string) // not empty
  statements.set(text, statement)
  return statement
}

type SqliteError = Error & { errcode?: number }

const busy = 5
const constraintForeignKey = 787
const constraintUnique = 2067
const constraintPrimaryKey = 1555

const isBusy = (error: unknown) => (((error as SqliteError).errcode ?? 0) & 0xff) === busy

function translate(error: unknown): unknown {
  switch ((error as SqliteError).errcode) {
    case constraintForeignKey:
      return new StoreError('foreign-key', error)
    case constraintUnique:
    case constraintPrimaryKey:
      return new StoreError('unique', error)
    default:
      return isBusy(error) ? new StoreError('unavailable', error) : error
  }
}
