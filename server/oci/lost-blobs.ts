// Blobs that repos have and the storage lacks: data was lost, or the storage was replaced.

import { BlobError } from '../blobs/blob-error.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Digest } from '../blobs/digest.ts'
import { BoundedMap } from '../bounded-map.ts'

export type LostBlobs = {
  /** To be called if the storage lacks a blob. It is reported once. */
  note(digest: Digest): void
  /**
   * Whether the storage lacks a blob that was noted. The registry must not say that it has a lost
   * blob: clients would not push it again, and the image could not be repaired. False for a blob
   * that was not noted, because asking the storage takes time.
   */
  isLost(digest: Digest): Promise<boolean>
  isNoted(digest: Digest): boolean
}

const maxNoted = 10_000

export function openLostBlobs(blobs: Pick<BlobStore, 'read'>, onError: (error: unknown) => void): LostBlobs {
  const noted = new BoundedMap<Digest, true>(maxNoted)
  const isNoted = (digest: Digest) => noted.has(digest)
  return {
    isNoted,
    note(digest) {
      if (isNoted(digest)) return
      noted.set(digest, true)
      onError(new Error(`blob ${digest} is missing in the storage; push an image that contains it again`))
    },
    async isLost(digest) {
      if (!isNoted(digest)) return false
      try {
        await (await blobs.read(digest)).close()
        noted.delete(digest)
        return false
      } catch (error) {
        if (error instanceof BlobError && error.code === 'not-found') return true
        throw error
      }
    },
  }
}
