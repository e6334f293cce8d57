// The collection of garbage: deletes content of the registry to which nothing refers (docs/internals/registry.md). It
// runs beside pushes, pulls and other collections, in small transactions.
import type { BlobStore, StoredBlob } from '../../../blobs/blob-store.ts'
import type { Store } from '../../../store/db.ts'
import { among, sql } from '../../../store/sql.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { blobsPerClaim, claimBlobs, claimUnknown } from './claim-blobs.ts'
import type { Deletion } from './delete-claimed.ts'
import { deleteClaimed } from './delete-claimed.ts'
import { removeUploads } from './remove-uploads.ts'
import { reviewLinks } from './review-links.ts'

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
  /** Blobs that were taken away from a repo. */
  links: number
  /** Blobs that were deleted from the storage, and their bytes. */
  blobs: number
  bytes: number
  /** Deletions that failed. A later collection repeats them. */
  failures: number
}

/** An upload that a client continues is younger, whatever the grace period. */
const minUploadMs = 24 * 3_600_000
/** If more deletions fail, the storage itself has failed. */
const maxFailures = 20
/** How many blobs or uploads of the storage are compared with rows at a time. */
const listedAtATime = 500

/** `isThorough`: also looks for bytes in the storage that have no row, which takes as long as listing all of it. */
export async function collectGarbage(
  deps: CollectionDependencies,
  isThorough: boolean,
): Promise<CollectionTotals> {
  const totals: CollectionTotals = { uploads: 0, links: 0, blobs: 0, bytes: 0, failures: 0 }
  const { signal, onProgress, pause } = deps
  const afterBatch = async () => {
    onProgress?.(totals)
    await pause()
  }
  const steps = [removeAbandonedUploads, removeLinks, removeUnusedBlobs, removeUnknownUploads]
  for (const step of isThorough ? [...steps, removeUnknownBlobs] : steps) {
    for await (const found of step(deps)) {
      for (const name of Object.keys(found) as (keyof CollectionTotals)[]) totals[name] += found[name] ?? 0
      if (signal?.aborted) return totals
      await afterBatch()
    }
  }
  return totals
}

type Batches = AsyncGenerator<Partial<CollectionTotals>>

const oldestUpload = ({ now, graceMs }: CollectionDependencies) => now() - Math.max(graceMs, minUploadMs)

async function* removeAbandonedUploads(deps: CollectionDependencies): Batches {
  const { store, storage } = deps
  for (;;) {
    const ids = await store.write(() => removeUploads(oldestUpload(deps)))
    if (ids.length === 0) return
    // If the process is killed before, the bytes have no row, and `removeUnknownUploads` deletes them.
    for (const id of ids) await storage.discard({ id })
    yield { uploads: ids.length }
  }
}

async function* removeLinks({ access, store, now, graceMs }: CollectionDependencies): Batches {
  for (;;) {
    const { reviewed, removed } = await store.write(() => reviewLinks(access, now() - graceMs))
    if (reviewed === 0) return
    yield { links: removed }
  }
}

async function* removeUnusedBlobs(deps: CollectionDependencies): Batches {
  const { store, now, graceMs } = deps
  for (let failures = 0; failures <= maxFailures; ) {
    const { reviewed, ...claim } = await store.write(() => claimBlobs(now() - graceMs, now()))
    if (reviewed === 0) return
    const deletion = await deleteClaimed(deps, claim)
    failures += deletion.failures.length
    yield countsOf(deletion)
  }
}

const countsOf = ({ blobs, bytes, failures }: Deletion) => ({ blobs, bytes, failures: failures.length })

/** Bytes of uploads without a row: the upload was cancelled or its repo deleted, or the process was killed. */
async function* removeUnknownUploads(deps: CollectionDependencies): Batches {
  const { store, storage } = deps
  for await (const listed of inGroups(storage.abandoned(oldestUpload(deps)))) {
    const ids = listed.map(({ id }) => id)
    const rows = await store.query(sql`select id from uploads where id in ${among(ids)}`)
    const known = new Set(rows.map(([id]) => id))
    const unknown = ids.filter((id) => !known.has(id))
    for (const id of unknown) await storage.discard({ id })
    yield { uploads: unknown.length }
  }
}

/** Bytes of blobs without a row, which exist after an older backup of the store was restored. */
async function* removeUnknownBlobs(deps: CollectionDependencies): Batches {
  const { store, storage, now, graceMs } = deps
  for await (const listed of inGroups(storage.list())) {
    const old = listed.filter(({ modifiedAt }) => modifiedAt < now() - graceMs)
    const unknown = await withoutRow(store, old)
    // Another collection may have deleted some of these since they were listed, so their size is asked for again.
    for (let at = 0; at < unknown.length; at += blobsPerClaim) {
      const part = unknown.slice(at, at + blobsPerClaim)
      const claim = await store.write(() => claimUnknown(part, now()))
      yield countsOf(await deleteClaimed(deps, claim))
    }
    yield {}
  }
}

async function withoutRow(store: Store, blobs: readonly StoredBlob[]): Promise<string[]> {
  if (blobs.length === 0) return []
  const digests = blobs.map(({ digest }) => digest)
  const rows = await store.query(sql`select digest from blobs where digest in ${among(digests)}`)
  const known = new Set(rows.map(([digest]) => digest))
  return digests.filter((digest) => !known.has(digest))
}

async function* inGroups<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let group: T[] = []
  for await (const item of items) {
    group.push(item)
    if (group.length < listedAtATime) continue
    yield group
    group = []
  }
  if (group.length > 0) yield group
}
