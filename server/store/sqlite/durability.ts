// Makes commits durable. With `synchronous = normal`, a commit appends to the write-ahead log (WAL) without an fsync. The
// log is synced here, before the writes of the commit resolve: on the event loop while it has time, or in the thread pool.
import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { promisify } from 'node:util'
import { StoreError } from '../store-error.ts'

/** `writes` is the number of writes that wait for the sync. */
export type SyncFile = (fd: number, writes: number) => Promise<void>

export type Durability = {
  /** Resolves when everything that was committed before the call is on disk. */
  sync(writes: number): Promise<void>
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
  const { walFile, onSize, sync = adaptiveSync() } = options
  let file: number | undefined
  let hasFailed = false
  return {
    async sync(writes) {
      try {
        file ??= openSync(walFile, 'r+')
        await sync(file, writes)
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
/** If this many writes wait, a sync runs on the event loop even if that is busy: otherwise all of them wait longer. */
const manyWrites = 8
/** The event loop is busy if it was active for more than this share of the time, without the syncs. */
const maxUtilization = 0.7
/** The least time over which the utilization is measured. */
const intervalMs = 100

/** The functions that a sync uses; tests replace them. `activeMs` returns how long the event loop has been active. */
export type SyncProcess = {
  now(): number
  activeMs(): number
  syncOnLoop(fd: number): void
  syncInPool(fd: number): Promise<void>
}

const thisProcess: SyncProcess = {
  now: () => performance.now(),
  activeMs: () => performance.eventLoopUtilization().active,
  syncOnLoop: fdatasyncSync,
  syncInPool: promisify(fdatasync),
}

/** Syncs on the event loop while that is fast and delays few other calls, and otherwise in the thread pool. */
export function adaptiveSync({ now, activeMs, syncOnLoop, syncInPool } = thisProcess): SyncFile {
  let lastMs = 0
  let isBusy = false
  let interval = { start: now(), active: activeMs(), synced: 0 }

  function measureUtilization(time: number): void {
    const elapsed = time - interval.start
    if (elapsed < intervalMs) return
    const active = activeMs()
    isBusy = active - interval.active - interval.synced > elapsed * maxUtilization
    interval = { start: time, active, synced: 0 }
  }

  return async (fd, writes) => {
    const started = now()
    measureUtilization(started)
    const isOnLoop = lastMs < maxBlockingMs && (!isBusy || writes >= manyWrites)
    if (isOnLoop) syncOnLoop(fd)
    else await syncInPool(fd)
    lastMs = now() - started
    if (isOnLoop) interval.synced += lastMs
  }
}
