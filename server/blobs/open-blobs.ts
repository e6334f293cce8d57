import type { BlobStore } from './blob-store.ts'
import { type FilesOptions, openFilesStore } from './files/files-store.ts'
import type { S3Options } from './s3/s3-options.ts'

export type BlobOptions = ({ driver: 'files' } & FilesOptions) | ({ driver: 's3' } & S3Options)

export async function openBlobs(options: BlobOptions): Promise<BlobStore> {
  if (options.driver === 'files') return openFilesStore(options)
  const { openS3Store } = await import('./s3/s3-store.ts')
  return openS3Store(options)
}
