import type { Row } from '../sql.ts'
import type { Connection } from './connection.ts'
import { execute } from './connection.ts'

export type ReadOptions = {
  /** A counter that all threads with this store share. Each of them increases it after its writes. */
  commits?: Int32Array<SharedArrayBuffer> | undefined
  /** Whether each read has a transaction of its own. Otherwise, all reads of one turn of the event loop share one. */
  isolatesReads?: boolean
}

export type ReadTransaction = {
  /** Begins the transaction if none is open. */
  enter(): void
  end(): void
  /** The same object as before if nobody has committed meanwhile. Only while a transaction is open. */
  snapshot(): object
}

/**
 * The transaction that all reads of one turn of the event loop share: beginning one costs as much as a read. It ends
 * with the turn, before every write of this thread, and when another thread has committed (`commits`), so a read that
 * follows the reply to a write sees that write. A commit of another process, such as `stemmad users`, is seen from the
 * next turn on.
 */
export function openReadTransaction(
  reader: Connection,
  { commits, isolatesReads = false }: ReadOptions,
): ReadTransaction {
  let isOpen = false
  let seenCommits = 0
  const snapshots = openSnapshots(reader)

  function end(): void {
    if (!isOpen) return
    isOpen = false
    snapshots.end()
    if (reader.db.isTransaction) execute(reader, 'commit')
  }

  return {
    end,
    snapshot: snapshots.current,
    enter() {
      const commitCount = commits ? Atomics.load(commits, 0) : 0
      if (isOpen && !isolatesReads && commitCount === seenCommits) return
      end()
      seenCommits = commitCount
      if (!reader.db.isTransaction) execute(reader, 'begin')
      isOpen = true
      setImmediate(end)
    },
  }
}

/** SQLite changes the data version of a connection when another connection or process has committed. */
function openSnapshots(reader: Connection) {
  const version = reader.prepare('pragma data_version')
  let seenVersion: unknown
  let snapshot = {}
  let isCurrent = false
  return {
    /** Reads the version once in each transaction, because it cannot change within one. */
    current(): object {
      if (isCurrent) return snapshot
      const [row] = version.all() as unknown as Row[] // rows are arrays: setReturnArrays
      if (row?.[0] !== seenVersion) snapshot = {}
      seenVersion = row?.[0]
      isCurrent = true
      return snapshot
    },
    end(): void {
      isCurrent = false
    },
  }
}
