// The storage of the registry's content, as it is configured.
import { setTimeout as pause } from 'node:timers/promises'
import type { BlobStore } from './blobs/blob-store.ts'
import { openBlobs } from './blobs/open-blobs.ts'
import type { Config } from './config/config.ts'
import { ConfigError } from './config/config-error.ts'
import type { S3Config } from './config/content.ts'

export type ContentStorage = {
  /** Opens the storage at its first use. If that fails, the next call tries again. */
  open(): Promise<BlobStore>
  close(): Promise<void>
}

export function contentStorage({ content }: Pick<Config, 'content'>): ContentStorage {
  let opened: Promise<BlobStore> | undefined
  return {
    open() {
      opened ??= openBlobs(content).catch((error: unknown) => {
        opened = undefined
        throw error
      })
      return opened
    },
    async close() {
      await (await opened)?.close()
    },
  }
}

/**
 * Asks S3 whether the bucket can be used. Throws a ConfigError if S3 refuses, because then a setting is wrong. Returns a
 * warning if S3 cannot be reached: the server starts anyway, since most calls do not need
 * the content.
 */
export async function checkContent(
  { content }: Pick<Config, 'content'>,
  timeoutMs = 5000,
): Promise<string | undefined> {
  if (content.driver === 'files') return undefined
  const { isRefused } = await import('./blobs/s3/s3-failure.ts')
  const storage = contentStorage({ content })
  const timer = new AbortController()
  try {
    const check = storage.open().then((blobs) => blobs.check())
    check.catch(() => {}) // it may fail after the time is over
    return await Promise.race([
      check,
      pause(timeoutMs, `${placeOf(content)} has not answered for ${timeoutMs} ms`, { signal: timer.signal }),
    ]).then((warning) => warning ?? undefined)
  } catch (error) {
    const { message } = error as Error
    if (isRefused(error)) throw new ConfigError([`${placeOf(content)} cannot be used: ${message}`])
    return `${placeOf(content)} cannot be reached: ${message}`
  } finally {
    timer.abort() // a running timer would delay the end of the process
    await storage.close().catch(() => {})
  }
}

const placeOf = ({ bucket, endpoint, region }: S3Config) =>
  `the bucket ${bucket} (STEMMA_S3_BUCKET) at ${endpoint ?? `AWS in ${region}`}`
