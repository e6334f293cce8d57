// The storage of the registry's content, as it is configured.
import { join } from 'node:path'
import type { BlobStore } from './blobs/blob-store.ts'
import { openBlobs } from './blobs/open-blobs.ts'
import type { Config } from './config/config.ts'

/** The folder of the content, in the data folder. */
const contentFolder = 'content'

export type ContentStorage = {
  /** Opens the storage at its first use. If that fails, the next call tries again. */
  open(): Promise<BlobStore>
  close(): Promise<void>
}

export function contentStorage(config: Config): ContentStorage {
  let opened: Promise<BlobStore> | undefined
  return {
    open() {
      opened ??= openBlobs({ driver: 'files', folder: join(config.dataDir, contentFolder) }).catch(
        (error: unknown) => {
          opened = undefined
          throw error
        },
      )
      return opened
    },
    async close() {
      await (await opened)?.close()
    },
  }
}
