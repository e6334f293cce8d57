import { opendir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileError, isMissing } from '../blob-error.ts'
import { type AbandonedUpload, isUploadId, type StoredBlob } from '../blob-store.ts'
import { parseDigest } from '../digest.ts'
import type { Folders } from './folders.ts'

/** Lists blobs in the order of their digests. One folder is read at a time, which holds 1/256 of all blobs. */
export async function* walkBlobs(folders: Folders): AsyncGenerator<StoredBlob> {
  for (const algorithm of ['sha256', 'sha512']) {
    const shards = await sortedNames(join(folders.blobs, algorithm))
    for (const shard of shards) {
      for (const name of await sortedNames(join(folders.blobs, algorithm, shard))) {
        const digest = parseDigest(`${algorithm}:${name}`)
        const found = digest && (await statIfPresent(folders.blobPath(digest)))
        if (digest && found) yield { digest, size: found.size, modifiedAt: found.mtimeMs }
      }
    }
  }
}

export async function* walkAbandoned(folders: Folders, before: number): AsyncGenerator<AbandonedUpload> {
  const uploads = await opendir(folders.uploads).catch((error) => {
    throw fileError(error)
  })
  for await (const { name } of uploads) {
    const found = isUploadId(name) ? await statIfPresent(folders.uploadPath(name)) : undefined
    if (found && found.mtimeMs < before) yield { id: name, modifiedAt: found.mtimeMs }
  }
}

const sortedNames = async (path: string): Promise<string[]> => (await orIfMissing(readdir(path), [])).sort()

const statIfPresent = (path: string) => orIfMissing(stat(path), undefined)

/** A blob or an upload can be deleted while it is listed. */
const orIfMissing = <T, U>(result: Promise<T>, otherwise: U): Promise<T | U> =>
  result.catch((error) => {
    if (isMissing(error)) return otherwise
    throw fileError(error)
  })
