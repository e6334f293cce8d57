import type { BlobStore } from './blob-store.ts'
import { type FilesOptions, openFilesStore } from './files/files-store.ts'

export type BlobOptions = { driver: 'files' } & FilesOptions

export const openBlobs = (options: BlobOptions): Promise<BlobStore> => openFilesStore(options)
