// The thread of a checkpoint; see checkpoint.ts.
import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'

/** How many times the thread tries to truncate the log, and the pause between two attempts. */
const attempts = 20
const pauseMs = 50

// SQLite itself must not wait for readers: it would hold the write lock while it waits, and readers in the lane may
// take seconds.
const db = new DatabaseSync(workerData, { timeout: 0 })
try {
  db.exec('pragma synchronous = normal')
  // Copies most pages, without the write lock.
  db.exec('pragma wal_checkpoint(passive)')
  const truncate = db.prepare('pragma wal_checkpoint(truncate)')
  const pause = new Int32Array(new SharedArrayBuffer(4))
  // Takes the write lock, copies what was committed meanwhile, and truncates the log, unless it is being read.
  for (let attempt = 1; truncate.get()?.busy !== 0 && attempt < attempts; attempt++)
    Atomics.wait(pause, 0, 0, pauseMs)
} finally {
  db.close()
}
