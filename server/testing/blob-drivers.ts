// The drivers of the blob store, each on storage of its own, for the tests of their common behaviour.
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import type { BlobStore } from '../blobs/blob-store.ts'
import { openFilesStore } from '../blobs/files/files-store.ts'
import { openS3Store } from '../blobs/s3/s3-store.ts'
import { startS3Server } from './s3-server.ts'
import { temporaryFolder } from './stores.ts'

/** Storage and its driver. Reopening simulates a restart, and for S3 also another copy. */
export type BlobStorage = {
  blobs: BlobStore
  reopen(): Promise<BlobStore>
}

type Place = { open(): Promise<BlobStore>; remove(): Promise<void> }

const drivers: Record<string, () => Promise<Place>> = { files: filesPlace, S3: s3Place }

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

async function filesPlace(): Promise<Place> {
  const folder = await temporaryFolder()
  return {
    open: () => openFilesStore({ folder: join(folder, 'content') }),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** If STEMMA_TEST_S3 contains the options of a bucket as JSON, the tests run on that bucket. */
async function s3Place(): Promise<Place> {
  const given = process.env.STEMMA_TEST_S3
  if (given !== undefined) {
    const options = JSON.parse(given)
    return { open: () => openS3Store(options), remove: async () => {} }
  }
  const server = await startS3Server()
  return { open: () => openS3Store(server.options), remove: () => server.stop() }
}
