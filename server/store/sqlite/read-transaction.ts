import type { Connection } from './connection.ts'
import { execute } from './connection.ts'

export type ReadTransaction = {
  /** Begins the transaction if none is open. */
  enter(): void
  end(): void
}

/**
 * The transaction that all reads of one turn of the event loop share: beginning one costs as much as a read. It ends
 * with the turn and before every write, so a read that follows the reply to a write sees that write.
 */
export function openReadTransaction(reader: Connection): ReadTransaction {
  let isOpen = false

  function end(): void {
    if (!isOpen) return
    isOpen = false
    if (reader.db.isTransaction) execute(reader, 'commit')
  }

  return {
    end,
    enter() {
      if (isOpen) return
      if (!reader.db.isTransaction) execute(reader, 'begin')
      isOpen = true
      setImmediate(end)
    },
  }
}
