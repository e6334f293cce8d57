// The stored content of a platform's registry: rows and bytes.
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobStore } from '../../server/blobs/blob-store.ts'
import { placeOf } from '../../server/blobs/digest.ts'
import type { Store } from '../../server/store/db.ts'
import { raw, sql } from '../../server/store/sql.ts'

export const dayMs = 24 * 3_600_000

/** Makes all content two days older, as if nothing had happened for two days. */
export async function ageContent(store: Store, storage: BlobStore, folder: string): Promise<void> {
  await ageRows(store)
  const before = new Date(Date.now() - 2 * dayMs)
  for await (const { digest } of storage.list())
    await utimes(join(folder, 'blobs', placeOf(digest)), before, before)
  for await (const { id } of storage.abandoned(Number.POSITIVE_INFINITY))
    await utimes(join(folder, 'uploads', id), before, before)
}

/** Makes the rows older, but not the bytes. */
export async function ageRows(store: Store): Promise<void> {
  const columns = [
    'blobs.unused_since',
    'blobs.claimed_until',
    'repo_blobs.unused_since',
    'uploads.update_time',
  ]
  await store.write(function* () {
    for (const name of columns) {
      const [table = '', column = ''] = name.split('.')
      yield sql`update ${raw(table)} set ${raw(column)} = ${raw(column)} - ${2 * dayMs}`
    }
  })
}

/** The digests of all stored blobs, in order. */
export const storedDigests = async (storage: BlobStore): Promise<string[]> =>
  (await Array.fromAsync(storage.list())).map(({ digest }) => digest)
