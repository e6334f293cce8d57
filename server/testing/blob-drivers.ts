// The drivers of the blob store, each on storage of its own, for the tests of their common behaviour.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import type { BlobStore } from '../blobs/blob-store.ts'
import { openFilesStore } from '../blobs/files/files-store.ts'
import { memoryFolderOr } from './memory-folder.ts'

/** A storage with a driver. Reopening stands for a restart, and for S3 also for another copy. */
export type BlobStorage = {
  blobs: BlobStore
  reopen(): Promise<BlobStore>
}

type Place = { open(): Promise<BlobStore>; remove(): Promise<void> }

const drivers: Record<string, () => Promise<Place>> = { files: filesPlace }

export function onEachBlobDriver(title: string, body: (storage: BlobStorage) => void): void {
  for (const [name, makePlace] of Object.entries(drivers)) {
    describe(`${title} (${name})`, () => {
      let place: Place
      let current: BlobStore
      before(async () => {
        place = await makePlace()
        current = await place.open()
      })
      after(async () => {
        await current.close()
        await place.remove()
      })
      body({
        get blobs() {
          return current
        },
        async reopen() {
          await current.close()
          current = await place.open()
          return current
        },
      })
    })
  }
}

export const newUploadId = (): string => randomBytes(16).toString('hex')

export async function temporaryFolder(): Promise<string> {
  return mkdtemp(join(memoryFolderOr(tmpdir()), 'stemma-blobs-'))
}

async function filesPlace(): Promise<Place> {
  const folder = await temporaryFolder()
  return {
    open: () => openFilesStore({ folder: join(folder, 'content') }),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
