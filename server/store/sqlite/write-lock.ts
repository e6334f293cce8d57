// Takes the lock of the database file for a transaction that writes. Another process may have it (`stemmad bootstrap`).
import type { Clock } from '../clock.ts'
import type { Connection } from './connection.ts'
import { execute } from './connection.ts'
import { isBusy } from './errors.ts'

/** How long to wait before the next attempt while another process has the lock. */
export const lockRetryMs = 5

export type WriteLock = {
  /** Begins a transaction. Returns false if another process has the lock, or if `onFailure` was called. */
  begin(): boolean
  /** Whether another process had the lock at the last attempt. */
  isTaken(): boolean
  /** To be called when nothing waits for the lock any more. The next timeout starts anew. */
  giveUp(): void
}

export type WriteLockOptions = {
  writer: Connection
  clock: Clock
  lockTimeoutMs: number
}

/** `onFailure` is called if the lock is not free in time, and if the transaction cannot begin for another reason. */
export function openWriteLock(options: WriteLockOptions, onFailure: (error: unknown) => void): WriteLock {
  const { writer, clock, lockTimeoutMs } = options
  let takenSince: number | undefined
  return {
    begin() {
      try {
        execute(writer, 'begin immediate')
        takenSince = undefined
        return true
      } catch (error) {
        takenSince ??= clock.now()
        if (isBusy(error) && clock.now() - takenSince < lockTimeoutMs) return false
        takenSince = undefined
        onFailure(error)
        return false
      }
    },
    isTaken: () => takenSince !== undefined,
    giveUp() {
      takenSince = undefined
    },
  }
}
