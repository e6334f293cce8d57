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
  /**
   * Whether the storage has a blob. Asked if the client is to read it from the storage directly: the
   * server would not notice a loss then. The answer yes is remembered for `foundMs`. A loss is noted.
   */
  isStored(digest: Digest): Promise<boolean>
}

const maxNoted = 10_000
const maxFound = 10_000
const foundMs = 10 * 60_000

export function openLostBlobs(
  blobs: Pick<BlobStore, 'read' | 'size'>,
  now: () => number,
  onError: (error: unknown) => void,
): LostBlobs {
  const noted = new BoundedMap<Digest, true>(maxNoted)
  /** Blobs that the storage has, with the time until which this is believed. */
  const found = new BoundedMap<Digest, number>(maxFound)
  const isNoted = (digest: Digest) => noted.has(digest)
  function note(digest: Digest): void {
    found.delete(digest)
    if (isNoted(digest)) return
    noted.set(digest, true)
    onError(new Error(`blob ${digest} is missing in the storage; push an image that contains it again`))
  }
  return {
    ...{ isNoted, note },
    async isStored(digest) {
      if ((found.get(digest) ?? 0) > now()) return true
      if ((await blobs.size(digest)) === undefined) {
        note(digest)
        return false
      }
      noted.delete(digest)
      found.set(digest, now() + foundMs)
      return true
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
