// An S3 server in the test process. It checks signatures. It cannot abort or list multipart
// uploads, accepts parts of any size and with any ETag, sends the whole object for the range 0-0,
// and cannot page lists of version 2. Set STEMMA_TEST_S3 to run the conformance suite of blob
// stores on another server.
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { S3Options } from '../blobs/s3/s3-options.ts'
import { temporaryFolder } from './stores.ts'

export type S3Server = {
  options: S3Options
  /** Flags of stemmad that select the server. */
  settings: string[]
  stop(): Promise<void>
}

const bucket = 'stemma'

/** Small, because the server, unlike S3, accepts parts of any size. Spools read 128 KiB at once. */
export const partBytes = 320 * 1024

export async function startS3Server(): Promise<S3Server> {
  const { default: S3rver } = await import('@20minutes/s3rver')
  const folder = await temporaryFolder()
  const directory = join(folder, 's3')
  await mkdir(directory)
  const configureBuckets = [{ name: bucket }]
  const server = new S3rver({ address: '127.0.0.1', port: 0, directory, silent: true, configureBuckets })
  const { port } = await server.run()
  const endpoint = `http://127.0.0.1:${port}`
  const spoolFolder = join(folder, 'spool')
  return {
    settings: [
      ...['--content-driver', 's3', '--s3-bucket', bucket, '--s3-endpoint', endpoint],
      ...['--s3-spool-dir', spoolFolder],
      ...['--aws-access-key-id', 'S3RVER', '--aws-secret-access-key', 'S3RVER'],
    ],
    options: {
      bucket,
      region: 'us-east-1',
      endpoint,
      credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
      spoolFolder,
      limits: { partBytes, pageKeys: 7, attempts: 2, firstPauseMs: 1 },
    },
    async stop() {
      await server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
