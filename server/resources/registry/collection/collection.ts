// The dependencies of a garbage collection of registry content, and its report.
import type { BlobStore } from '../../../blobs/blob-store.ts'
import type { Store } from '../../../store/db.ts'
import type { WriteAccess } from '../../../store/write-access.ts'

export type CollectionDependencies = {
  access: WriteAccess
  store: Store
  storage: BlobStore
  now(): number
  /** How long content is kept after the last reference to it is gone, in milliseconds. */
  graceMs: number
  /** Waits between two transactions, so that a collection takes a small part of the time of the server. */
  pause(): Promise<unknown>
  /** Ends the collection after the current transaction. */
  signal?: AbortSignal
  /** Called after each transaction. */
  onProgress?(totals: Readonly<CollectionTotals>): void
}

export type CollectionTotals = {
  /** Uploads that were not finished. */
  uploads: number
  /** Blobs that were removed from a repo. */
  links: number
  /** Blobs that were deleted from the storage, and their bytes. */
  blobs: number
  bytes: number
  /** Deletions that failed. A later collection repeats them. */
  failures: number
}
