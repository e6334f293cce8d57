// Checkpoints the write-ahead log (WAL) in a thread: copies its pages into the database file and
// truncates it. On the event loop, SQLite would block all calls for as long as 64 MB take to write.
import { Worker } from 'node:worker_threads'
import { threadProgram } from '../../package-files.ts'

/**
 * The same pages are written again and again, and a checkpoint copies only the last version of each, so the log may grow
 * to 64 MB first.
 */
export const defaultWalLimit = 64 * 2 ** 20

const program = threadProgram('store/sqlite/checkpoint-thread')

export type Checkpoints = {
  /** Starts a checkpoint if the log is large and none is running. */
  onWalSize(bytes: number): void
  /** Resolves when no checkpoint is running. */
  ended(): Promise<void>
}

/**
 * `walLimit` is the size in bytes at which the log is checkpointed. If readers prevent a checkpoint from truncating the
 * log, the next one starts when the log has grown by another quarter of this size.
 */
export function openCheckpoints(file: string, walLimit: number): Checkpoints {
  let running: Promise<void> | undefined
  let nextSize = walLimit
  return {
    onWalSize(bytes) {
      if (bytes < walLimit) nextSize = walLimit
      if (bytes < nextSize || running) return
      nextSize = bytes + walLimit / 4
      running = checkpointInThread(file).finally(() => {
        running = undefined
      })
    },
    ended: async () => running,
  }
}

/** If it fails, SQLite itself checkpoints when the log reaches 256 MB (see connection.ts). */
function checkpointInThread(file: string): Promise<void> {
  return new Promise<void>((resolve) => {
    const thread = new Worker(program, { workerData: file })
    thread.once('error', () => resolve())
    thread.once('exit', () => resolve())
  }).catch(() => {}) // the constructor throws if no thread can be created
}
