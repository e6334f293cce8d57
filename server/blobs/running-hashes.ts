// The hashes of unfinished uploads. Node cannot store the state of a hash, so it is in memory only. It is missing after
// a restart, after an eviction, and on other copies of the server. The upload is then read again when it is finished.
import { createHash, type Hash } from 'node:crypto'
import { BoundedMap } from '../bounded-map.ts'
import type { Batch } from './batches.ts'
import type { Algorithm } from './digest.ts'
import type { Pace } from './pace.ts'

export type RunningHash = { algorithm: Algorithm; hash: Hash }

/** A hash takes about half a kilobyte. */
const maxHashes = 4096

export type RunningHashes = ReturnType<typeof makeRunningHashes>

export function makeRunningHashes(pace: Pace) {
  const hashes = new BoundedMap<string, RunningHash & { mark: string }>(maxHashes)
  return {
    /** Keeps the hash of the content that `mark` identifies. */
    keep(id: string, mark: string, { algorithm, hash }: RunningHash): void {
      hashes.set(id, { algorithm, hash, mark })
    },
    /**
     * Removes the hash and returns it. Undefined if it has another mark: the content has changed
     * since the hash was kept.
     */
    take(id: string, mark: string): RunningHash | undefined {
      const kept = hashes.get(id)
      hashes.delete(id)
      return kept?.mark === mark ? kept : undefined
    },
    begin(id: string, mark: string, algorithm: Algorithm): void {
      this.keep(id, mark, { algorithm, hash: createHash(algorithm) })
    },
    /** Adds bytes to a hash. Returns when they are included, which can take some turns of the event loop. */
    async update({ algorithm, hash }: RunningHash, { chunks, bytes }: Batch): Promise<void> {
      await pace(bytes, algorithm)
      for (const chunk of chunks) hash.update(chunk)
    },
    forget: (id: string) => hashes.delete(id),
    clear: () => hashes.clear(),
  }
}
