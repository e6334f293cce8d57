import type { Store } from '../../server/store/db.ts'
import { sql } from '../../server/store/sql.ts'
import type { Work } from '../../server/store/work.ts'

/**
 * A store that counts reads, the turns of the event loop in which they ran, and the rows that they
 * returned. `mostBytes` is the most bytes of binary values that one read returned. `plans` are the
 * steps of the query plans of SQLite.
 */
export function countingReads(store: Store) {
  const counted = { reads: 0, rows: 0, mostBytes: 0, turns: new Set<number>(), plans: new Set<string>() }
  let turn = 0
  let isStopped = false
  const nextTurn = () => {
    turn++
    // Does not keep the process running if a test fails before it calls `stop`.
    if (!isStopped) setImmediate(nextTurn).unref()
  }
  nextTurn()
  function* observe<T>(work: Work<T>): Work<T> {
    let step = work.next()
    let bytes = 0
    while (!step.done) {
      if (store.engine === 'sqlite')
        for (const row of yield sql`explain query plan ${step.value}`) counted.plans.add(String(row[3]))
      const rows = yield step.value
      counted.rows += rows.length
      for (const value of rows.flat()) if (value instanceof Uint8Array) bytes += value.length
      step = work.next(rows)
    }
    counted.mostBytes = Math.max(counted.mostBytes, bytes)
    return step.value
  }
  const read: Store['read'] = (work) => {
    counted.reads++
    counted.turns.add(turn)
    return store.read(() => observe(work()))
  }
  const stop = () => {
    isStopped = true
  }
  return { store: { ...store, read } as Store, counted, stop }
}
