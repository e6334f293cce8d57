// The embedded engine: one connection that reads, one that writes. Writes that wait together share a commit, so
// that a durable write costs a share of an fsync.

import type { Store } from './db.ts'
import { migrationsTable, pendingOf } from './db.ts'
import { sql } from './sql.ts'
import type { Connection } from './sqlite-connection.ts'
import { connect, drive, isBusy, run, translate } from './sqlite-connection.ts'
import { readSnapshot } from './sqlite-snapshot.ts'
import { StoreError } from './store-error.ts'
import type { Work } from './work.ts'

const mostWritesInACommit = 256
/** Milliseconds after which a batch takes no more writes, so that reads get their turn. */
const longestBatch = 20
const mostWritesWaiting = 10_000
const pause = 5

export type SqliteOptions = {
  /** How long writes wait for another process that holds the lock, in milliseconds. */
  lockTimeout?: number
}

type Job = {
  work: () => Work<unknown>
  deadline: number
  settle: (outcome: Outcome) => void
  /** Whether it writes in ways that are not seen here. */
  isScript: boolean
}

type Outcome = { value: unknown } | { error: unknown }

export function openSqlite(file: string, { lockTimeout = 10_000 }: SqliteOptions = {}): Store {
  const writer = connect(file, false)
  const reader = connect(file, true)
  const moment = openMoment(reader)
  const queue = openQueue(writer, lockTimeout, moment.end)

  function attempted<T>(read: () => T): T | Promise<T> {
    try {
      moment.enter()
      return read()
    } catch (error) {
      if (!isBusy(error)) throw translate(error)
      moment.end()
      return retryWhileLocked(read)
    }
  }

  /** Another process may be recovering or closing the store for a moment. */
  async function retryWhileLocked<T>(read: () => T): Promise<T> {
    const since = Date.now()
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, pause))
      try {
        moment.enter()
        return read()
      } catch (error) {
        if (!isBusy(error) || Date.now() - since > lockTimeout) throw translate(error)
        moment.end()
      }
    }
  }

  return {
    engine: 'sqlite',
    query: (statement) => attempted(() => reader.all(statement)),
    read: (work) => attempted(() => drive(reader, work())),
    write: (work, deadline) => queue.write(work, deadline),
    migrate(migrations) {
      function* apply(): Work<string[]> {
        writer.db.exec(migrationsTable)
        const applied = (yield sql`select name from migrations`).map(([name]) => name as string)
        const pending = pendingOf(migrations, applied)
        for (const { name, script } of pending) {
          writer.db.exec(script)
          yield sql`insert into migrations (name, apply_time) values (${name}, ${Date.now()})`
        }
        return pending.map(({ name }) => name)
      }
      return queue.write(apply, undefined, true)
    },
    snapshot: () => readSnapshot(file),
    async close() {
      await queue.close()
      moment.end()
      for (const { db } of [reader, writer]) if (db.isOpen) db.close()
    },
  }
}

/**
 * Reads of one turn of the loop see the same moment, since entering one costs as much as a read. It ends with the
 * turn, and before anything is written: whoever calls after a write was answered comes in a later one.
 */
function openMoment(reader: Connection) {
  let isEntered = false

  function end(): void {
    if (!isEntered) return
    isEntered = false
    if (reader.db.isTransaction) run(reader, 'commit')
  }

  return {
    end,
    enter(): void {
      if (isEntered) return
      if (!reader.db.isTransaction) run(reader, 'begin')
      isEntered = true
      setImmediate(end)
    },
  }
}

function openQueue(writer: Connection, lockTimeout: number, endReads: () => void) {
  let waiting: Job[] = []
  let isScheduled = false
  let isClosed = false
  let lockedSince: number | undefined
  let onIdle = () => {}

  function flush(): void {
    isScheduled = false
    endReads()
    waiting = waiting.filter(isInTime)
    if (waiting.length > 0 && begin()) {
      if (waiting.length === 1) runAlone()
      else runBatch()
    }
    if (waiting.length > 0) schedule()
    else onIdle()
  }

  /** Another process may hold the lock (`stemmad bootstrap`): come back later, and let others go on meanwhile. */
  function begin(): boolean {
    try {
      run(writer, 'begin immediate')
      lockedSince = undefined
      return true
    } catch (error) {
      lockedSince ??= Date.now()
      if (isBusy(error) && Date.now() - lockedSince < lockTimeout) return false
      lockedSince = undefined
      for (const job of waiting.splice(0)) job.settle({ error: translate(error) })
      return false
    }
  }

  /** With nobody to share the commit it needs no savepoint, which would keep a copy of every page it changes. */
  function runAlone(): void {
    const job = waiting.shift() as Job // there is one
    let outcome: Outcome
    try {
      outcome = { value: drive(writer, job.work()) }
    } catch (error) {
      outcome = { error: translate(error) }
    }
    try {
      if (writer.db.isTransaction) run(writer, 'error' in outcome ? 'rollback' : 'commit')
    } catch (error) {
      if (writer.db.isTransaction) run(writer, 'rollback')
      outcome = { error: new StoreError('unavailable', error) }
    }
    job.settle(outcome)
  }

  /** One commit for many. What fails as a whole, such as the commit, fails for all that share it. */
  function runBatch(): void {
    let outcomes: Outcome[] = []
    let failure: Outcome | undefined
    try {
      const lucky = attemptAll(attemptBare)
      if (!lucky) {
        if (writer.db.isTransaction) run(writer, 'rollback')
        if (!begin()) return
      }
      outcomes = lucky ?? attemptAll(attempt) ?? []
      run(writer, 'commit')
    } catch (error) {
      if (writer.db.isTransaction) run(writer, 'rollback')
      failure = { error: new StoreError('unavailable', error) }
    }
    const batch = waiting.splice(0, Math.max(1, outcomes.length))
    batch.forEach((job, at) => {
      job.settle(failure ?? (outcomes[at] as Outcome)) // one outcome for each job
    })
  }

  /** As many as their time allows; undefined if one of them has left a trace that the others must not have. */
  function attemptAll(attemptOne: typeof attemptBare): Outcome[] | undefined {
    const until = Date.now() + longestBatch
    const outcomes: Outcome[] = []
    do {
      const outcome = attemptOne(writer, waiting[outcomes.length] as Job) // below the length
      if (!outcome) return undefined
      outcomes.push(outcome)
    } while (
      writer.db.isTransaction &&
      outcomes.length < Math.min(waiting.length, mostWritesInACommit) &&
      Date.now() < until
    )
    return outcomes
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    if (lockedSince === undefined) setImmediate(flush)
    else setTimeout(flush, pause)
  }

  return {
    write<T>(work: () => Work<T>, deadline = Number.POSITIVE_INFINITY, isScript = false): Promise<T> {
      if (isClosed || waiting.length >= mostWritesWaiting) {
        return Promise.reject(new StoreError('unavailable'))
      }
      return new Promise((resolve, reject) => {
        const settle = (outcome: Outcome) =>
          'error' in outcome ? reject(outcome.error) : resolve(outcome.value as T)
        waiting.push({ work, deadline, settle, isScript })
        schedule()
      })
    },
    /** Takes no more, and ends with what is waiting. */
    close(): Promise<void> {
      isClosed = true
      return new Promise((resolve) => {
        if (waiting.length === 0) resolve()
        else onIdle = resolve
      })
    },
  }
}

/** Those past their deadline are told so, also while the lock is held elsewhere. */
function isInTime({ deadline, settle }: Job): boolean {
  if (Date.now() <= deadline) return true
  settle({ error: new StoreError('deadline') })
  return false
}

/**
 * Without a savepoint, which would keep a copy of every page it changes. Most fail before they write anything,
 * being not allowed to; undefined where one fails later.
 */
function attemptBare(writer: Connection, { work, isScript }: Job): Outcome | undefined {
  let hasWritten = isScript
  try {
    const onWrite = () => {
      hasWritten = true
    }
    return { value: drive(writer, work(), onWrite) }
  } catch (error) {
    return hasWritten || !writer.db.isTransaction ? undefined : { error: translate(error) }
  }
}

/** A full disk, for one, makes the engine give up the whole transaction: then the batch is over. */
function attempt(writer: Connection, job: Job): Outcome {
  run(writer, 'savepoint job')
  try {
    const value = drive(writer, job.work())
    run(writer, 'release job')
    return { value }
  } catch (error) {
    if (writer.db.isTransaction) {
      run(writer, 'rollback to job')
      run(writer, 'release job')
    }
    return { error: translate(error) }
  }
}
