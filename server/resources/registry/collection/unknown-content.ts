// Bytes in the storage that have no row.
import type { StoredBlob } from '../../../blobs/blob-store.ts'
import { among, sql } from '../../../store/sql.ts'
import type { CollectionDependencies } from './collection.ts'

type Dependencies = Pick<CollectionDependencies, 'store' | 'storage' | 'now' | 'graceMs'>

/** Uploads are kept this long after the last write, even if the grace period is shorter: a client may continue them. */
const minUploadGraceMs = 24 * 3_600_000
/** How many blobs or uploads of the storage are compared with rows at a time. */
const listedAtATime = 500

/** Uploads to which nothing was written since this time are abandoned. */
export const oldestUpload = (now: number, graceMs: number): number =>
  now - Math.max(graceMs, minUploadGraceMs)

/**
 * Ids of abandoned uploads that have no row: the upload was cancelled, its repo was deleted, or the
 * process was killed.
 */
export async function* unknownUploads(deps: Dependencies): AsyncGenerator<string[]> {
  const { store, storage, now, graceMs } = deps
  for await (const listed of inBatches(storage.abandoned(oldestUpload(now(), graceMs)))) {
    const ids = listed.map(({ id }) => id)
    const rows = await store.query(sql`select id from uploads where id in ${among(ids)}`)
    const known = new Set(rows.map(([id]) => id))
    yield ids.filter((id) => !known.has(id))
  }
}

/**
 * Blobs without a row that are older than the grace period. They exist, for example, after an older
 * backup of the store was restored.
 */
export async function* unknownBlobs(deps: Dependencies): AsyncGenerator<StoredBlob[]> {
  const { store, storage, now, graceMs } = deps
  for await (const listed of inBatches(storage.list())) {
    const old = listed.filter(({ modifiedAt }) => modifiedAt < now() - graceMs)
    if (old.length === 0) {
      yield []
      continue
    }
    const digests = among(old.map(({ digest }) => digest))
    const rows = await store.query(sql`select digest from blobs where digest in ${digests}`)
    const known = new Set(rows.map(([digest]) => digest))
    yield old.filter(({ digest }) => !known.has(digest))
  }
}

async function* inBatches<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < listedAtATime) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
