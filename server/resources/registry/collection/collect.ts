// Garbage collection: deletes content of the registry to which nothing refers (docs/internals/registry.md). It
// runs beside pushes, pulls and other collections, in small transactions.

import { sql } from '../../../store/sql.ts'
import { releaseReserved } from '../release-reserved.ts'
import { blobsPerClaim, claimBlobs, claimUnknown } from './claim-blobs.ts'
import type { CollectionDependencies, CollectionTotals } from './collection.ts'
import type { Deletion } from './delete-claimed.ts'
import { deleteClaimed } from './delete-claimed.ts'
import { removeUploads } from './remove-uploads.ts'
import { reviewLinks } from './review-links.ts'
import { oldestUpload, unknownBlobs, unknownUploads } from './unknown-content.ts'

/** If more deletions fail, the storage itself has failed. */
const maxFailures = 20

/**
 * `withUnknownBlobs`: also deletes blobs in the storage that the store does not know. They may belong to another store
 * that uses the same bucket, so only an operator can ask for this.
 */
export async function collectGarbage(
  deps: CollectionDependencies,
  { withUnknownBlobs = false } = {},
): Promise<CollectionTotals> {
  const totals: CollectionTotals = { uploads: 0, links: 0, blobs: 0, bytes: 0, failures: 0 }
  const { signal, onProgress, pause } = deps
  const afterBatch = async () => {
    onProgress?.(totals)
    await pause()
  }
  const steps = [
    releaseReservedBytes,
    removeAbandonedUploads,
    removeLinks,
    removeUnusedBlobs,
    removeUnknownUploads,
  ]
  for (const step of withUnknownBlobs ? [...steps, removeUnknownBlobs] : steps) {
    for await (const found of step(deps)) {
      for (const name of Object.keys(found) as (keyof CollectionTotals)[]) totals[name] += found[name] ?? 0
      if (signal?.aborted) return totals
      await afterBatch()
    }
  }
  return totals
}

type Batches = AsyncGenerator<Partial<CollectionTotals>>

async function* releaseReservedBytes({ access, store, now }: CollectionDependencies): Batches {
  while ((await store.write(() => releaseReserved(access, now(), sql`1 = 1`))) > 0) yield {}
}

async function* removeAbandonedUploads(deps: CollectionDependencies): Batches {
  const { access, store, storage, now, graceMs } = deps
  for (;;) {
    const ids = await store.write(() => removeUploads(access, oldestUpload(now(), graceMs)))
    if (ids.length === 0) return
    // If the process is killed before this ends, the bytes that are left have no row, and
    // `removeUnknownUploads` deletes them.
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

async function* removeUnknownUploads(deps: CollectionDependencies): Batches {
  for await (const ids of unknownUploads(deps)) {
    for (const id of ids) await deps.storage.discard({ id })
    yield { uploads: ids.length }
  }
}

async function* removeUnknownBlobs(deps: CollectionDependencies): Batches {
  const { store, now } = deps
  for await (const blobs of unknownBlobs(deps)) {
    const digests = blobs.map(({ digest }) => digest)
    // Another collection may have deleted some of these since they were listed, so `deleteClaimed`
    // asks the storage for their sizes again.
    for (let at = 0; at < digests.length; at += blobsPerClaim) {
      const part = digests.slice(at, at + blobsPerClaim)
      const claim = await store.write(() => claimUnknown(part, now()))
      yield countsOf(await deleteClaimed(deps, claim))
    }
    yield {}
  }
}
