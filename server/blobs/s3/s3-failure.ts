import { BlobError } from '../blob-error.ts'
import { elementText } from './xml.ts'

/** An error response of S3 or STS. */
export class S3Failure extends Error {
  readonly status: number
  /** For example NoSuchKey. Empty if the response has none: a response to HEAD has no body. */
  readonly code: string

  constructor(status: number, xml: string) {
    const code = elementText(xml, 'Code') ?? ''
    const message = elementText(xml, 'Message') ?? ''
    super(`S3 answered ${status} ${code} ${message.slice(0, 200)}`.trim())
    this.name = 'S3Failure'
    this.status = status
    this.code = code
  }
}

const retriedStatuses = new Set([408, 425, 429, 500, 502, 503, 504])
/**
 * Retried whatever the status is: S3 reports some of them with status 400. Each try uses the
 * current credentials, which may have been renewed.
 */
const retriedCodes = new Set([
  'RequestTimeout',
  'ExpiredToken',
  'SlowDown',
  'InternalError',
  'ServiceUnavailable',
])

/** Whether the same request may succeed later. All requests here can be repeated without harm. */
export const mayRetry = (error: unknown): boolean =>
  error instanceof S3Failure
    ? retriedStatuses.has(error.status) || retriedCodes.has(error.code)
    : !(error instanceof BlobError || (error instanceof Error && error.name === 'AbortError'))

/** Whether S3 or STS refused a request for a permanent reason, such as wrong credentials. */
export const isRefused = (error: unknown): boolean =>
  error instanceof BlobError && error.cause instanceof S3Failure && !mayRetry(error.cause)

/** Status 404 with the code NoSuchBucket means a wrong setting, not a missing object. */
export const isMissingObject = (error: unknown): boolean =>
  error instanceof S3Failure && error.status === 404 && error.code !== 'NoSuchBucket'

const fullCodes = new Set(['QuotaExceeded', 'XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded'])

export function storageError(error: unknown): BlobError {
  if (error instanceof BlobError) return error
  if (error instanceof S3Failure && (error.status === 507 || fullCodes.has(error.code))) {
    return new BlobError('no-space', 'no space is left in the bucket', error)
  }
  return new BlobError('unavailable', `the storage for content failed (${reasonOf(error)})`, error)
}

function reasonOf(error: unknown): string {
  if (error instanceof S3Failure) return `${error.status} ${error.code}`.trim()
  if (!(error instanceof Error)) return String(error)
  // Errors of the system have a code, such as ECONNRESET.
  return 'code' in error ? String(error.code) : error.message
}
