import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Algorithm } from './digest.ts'

/** Resolves when this many bytes may be hashed. Undefined if they may be hashed at once. */
export type Pace = (bytes: number, algorithm: Algorithm) => Promise<void> | undefined

/** 4 MiB of SHA-256 take 3 ms (1500 MB/s). */
const maxBytesInTurn = 4 * 1024 * 1024
/** SHA-512 is that many times slower (550 MB/s). */
const sha512Weight = 3

/**
 * Limits how much is hashed in one turn of the event loop. Each upload hashes at most 0.5 MiB at a time, but many uploads
 * can be ready in the same turn, and together would block other calls.
 */
export function makePace(): Pace {
  let spent = 0
  const spend = (bytes: number) => {
    if (spent === 0) {
      setImmediate(() => {
        spent = 0
      })
    }
    spent += bytes
  }
  const waitAndSpend = async (bytes: number) => {
    while (spent >= maxBytesInTurn) await nextTurn()
    spend(bytes)
  }
  return (bytes, algorithm) => {
    const weighted = algorithm === 'sha512' ? bytes * sha512Weight : bytes
    if (spent >= maxBytesInTurn) return waitAndSpend(weighted)
    spend(weighted)
    return undefined
  }
}
