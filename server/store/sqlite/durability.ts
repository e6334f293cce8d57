// Makes commits durable. With `synchronous = normal`, a commit appends to the write-ahead log (WAL) without an fsync. The
// log is synced here, before the writes of the commit resolve: in the thread pool, unless syncs are fast.
import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { StoreError } from '../store-error.ts'

export type SyncFile = (fd: number) => Promise<void>

export type Durability = {
  /** Resolves when everything that was committed before the call is on disk. */
  sync(): Promise<void>
  /** Whether a sync has failed. Then nothing may be written until a restart. */
  hasFailed(): boolean
  close(): void
}

export type DurabilityOptions = {
  /** The WAL of the store. SQLite creates it before the first commit and keeps it while the store is open. */
  walFile: string
  sync?: SyncFile
  /** Called after each sync with the size of the WAL in bytes. */
  onSize: (bytes: number) => void
}

export function openDurability(options: DurabilityOptions): Durability {
  const { walFile, onSize, sync = adaptiveSync(() => performance.now()) } = options
  let file: number | undefined
  let hasFailed = false
  return {
    async sync() {
      try {
        file ??= openSync(walFile, 'r+')
        await sync(file)
        onSize(fstatSync(file).size)
      } catch (error) {
        // After a failed fsync, Linux forgets which pages were not written, and a second one reports success. So
        // nothing is written until a restart, which reads the log again and ignores what is damaged.
        hasFailed = true
        throw new StoreError('unavailable', error)
      }
    },
    hasFailed: () => hasFailed,
    close() {
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}

/** A sync on the event loop may take this long. The thread pool adds half a millisecond to a write that waits alone. */
const maxBlockingMs = 3
const syncInPool = promisify(fdatasync)

/** Syncs on the event loop while that is fast, and in the thread pool while the disk is slow or the event loop is busy. */
export function adaptiveSync(
  clock: () => number,
  onLoop: (fd: number) => void = fdatasyncSync,
  inPool: SyncFile = syncInPool,
): SyncFile {
  let lastMs = 0
  return async (fd) => {
    const started = clock()
    if (lastMs < maxBlockingMs) onLoop(fd)
    else await inPool(fd)
    lastMs = clock() - started
  }
}
