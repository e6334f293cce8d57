// The embedded engine: one connection that reads and one that writes.
import type { Clock } from '../clock.ts'
import { systemClock } from '../clock.ts'
import type { Migration, Store } from '../db.ts'
import { migrationsTable, pendingOf } from '../db.ts'
import { sql } from '../sql.ts'
import type { Work } from '../work.ts'
import { defaultWalLimit, openCheckpoints } from './checkpoint.ts'
import type { Connection } from './connection.ts'
import { connect } from './connection.ts'
import { dump } from './dump.ts'
import type { SyncFile } from './durability.ts'
import { openDurability } from './durability.ts'
import { isBusy, translate } from './errors.ts'
import { createPrivateFile } from './private-files.ts'
import type { ReadOptions, ReadTransaction } from './read-transaction.ts'
import { openReadTransaction } from './read-transaction.ts'
import { runWork } from './run-work.ts'
import { lockRetryMs } from './write-lock.ts'
import { openWriteQueue } from './write-queue.ts'

export type SqliteOptions = ReadOptions & {
  /** How long to wait for another process that has the lock. */
  lockTimeoutMs?: number
  clock?: Clock
  /** Syncs the write-ahead log. */
  sync?: SyncFile
  /** The size in bytes at which the write-ahead log is checkpointed. */
  walLimit?: number
}

export function openSqlite(file: string, options: SqliteOptions = {}): Store {
  const { lockTimeoutMs = 10_000, clock = systemClock, commits, sync, walLimit = defaultWalLimit } = options
  createPrivateFile(file)
  const writer = connect(file, { isReadOnly: false, clock })
  const reader = connect(file, { isReadOnly: true, clock })
  const transaction = openReadTransaction(reader, options)
  const checkpoints = openCheckpoints(file, walLimit)
  const durability = openDurability({
    walFile: `${file}-wal`,
    ...(sync && { sync }),
    onSize: checkpoints.onWalSize,
  })
  const queue = openWriteQueue({
    ...{ writer, clock, lockTimeoutMs, beforeWrite: transaction.end },
    afterWrite: () => commits && Atomics.add(commits, 0, 1),
    sync: durability.sync,
    isBroken: durability.hasFailed,
  })

  function attempt<T>(read: () => T): T | Promise<T> {
    try {
      transaction.enter()
      return read()
    } catch (error) {
      if (!isBusy(error)) throw translate(error)
      transaction.end()
      return retryWhileBusy(read, transaction, lockTimeoutMs, clock)
    }
  }

  return {
    engine: 'sqlite',
    query: (statement) => attempt(() => reader.all(statement)),
    read: (work) => attempt(() => runWork(reader, work(), transaction)),
    write: (work, deadline) => queue.write(work, deadline),
    migrate: (migrations) => queue.write(() => migrate(writer, migrations, clock), undefined, true),
    snapshot: (tables) => dump(file, tables, clock),
    async close() {
      await queue.close()
      await checkpoints.ended()
      durability.close()
      transaction.end()
      for (const { db } of [reader, writer]) if (db.isOpen) db.close()
    },
  }
}

/** While another process recovers or closes the store, even reads can find it locked. */
async function retryWhileBusy<T>(
  read: () => T,
  transaction: ReadTransaction,
  timeoutMs: number,
  clock: Clock,
): Promise<T> {
  const deadline = clock.now() + timeoutMs
  for (;;) {
    await clock.sleep(lockRetryMs)
    try {
      transaction.enter()
      return read()
    } catch (error) {
      if (!isBusy(error) || clock.now() > deadline) throw translate(error)
      transaction.end()
    }
  }
}

function* migrate(writer: Connection, migrations: readonly Migration[], clock: Clock): Work<string[]> {
  writer.db.exec(migrationsTable)
  const applied = (yield sql`select name from migrations`).map(([name]) => name as string)
  const pending = pendingOf(migrations, applied)
  for (const { name, script } of pending) {
    writer.db.exec(script)
    yield sql`insert into migrations (name, apply_time) values (${name}, ${clock.now()})`
  }
  return pending.map(({ name }) => name)
}
