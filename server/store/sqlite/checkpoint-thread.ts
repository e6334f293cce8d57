// The thread of a checkpoint; see checkpoint.ts.
import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'

const lockTimeoutMs = 1000

const db = new DatabaseSync(workerData, { timeout: lockTimeoutMs })
try {
  db.exec('pragma synchronous = normal')
  // The first checkpoint copies most pages and takes no lock. The second takes the lock of the writer, copies what was
  // committed meanwhile, and truncates the log.
  db.exec('pragma wal_checkpoint(passive); pragma wal_checkpoint(truncate)')
} finally {
  db.close()
}
