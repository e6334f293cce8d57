import type { Connection } from './connection.ts'
import { execute } from './connection.ts'

export type ReadOptions = {
  /** Shared by the threads that have this store open: how many transactions they have committed. */
  commits?: Int32Array<SharedArrayBuffer> | undefined
  /** Whether each read has a transaction of its own. Otherwise, all reads of one turn of the event loop share one. */
  isolatesReads?: boolean
}

export type ReadTransaction = {
  /** Begins the transaction if none is open. */
  enter(): void
  end(): void
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

  function end(): void {
    if (!isOpen) return
    isOpen = false
    if (reader.db.isTransaction) execute(reader, 'commit')
  }

  return {
    end,
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
