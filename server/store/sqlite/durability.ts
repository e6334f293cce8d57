// Makes commits durable off the event loop. With `synchronous = normal`, a commit appends to the write-ahead log (WAL)
// without an fsync, which would block the thread for milliseconds. The log is synced here, in the thread pool, before
// the writes of the commit resolve.
import { closeSync, fdatasync, fstatSync, openSync } from 'node:fs'
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
  const { walFile, onSize, sync = promisify(fdatasync) } = options
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
