/**
 * - `not-found`: there is no such blob or upload.
 * - `digest-mismatch`: the bytes have another digest. The upload is gone.
 * - `offset-mismatch`: an append does not start at the end of the upload.
 * - `range`: the range starts after the end of the blob.
 * - `too-large`: the upload would exceed a limit.
 * - `small-chunks`: the upload arrives in chunks that are too small for the storage.
 * - `busy`: another call appends to the upload or finishes it.
 * - `interrupted`: the body of an upload, or the reader of a blob, failed or was aborted. The
 *   upload can be resumed.
 * - `no-space`: the disk or its quota is full.
 * - `unavailable`: the storage does not answer or refuses. The same call may succeed later.
 */
export type BlobErrorCode =
  | 'not-found'
  | 'digest-mismatch'
  | 'offset-mismatch'
  | 'range'
  | 'too-large'
  | 'small-chunks'
  | 'busy'
  | 'interrupted'
  | 'no-space'
  | 'unavailable'

/** An error that callers of the blob store can handle. Messages contain no credentials and no paths. */
export class BlobError extends Error {
  readonly code: BlobErrorCode

  constructor(code: BlobErrorCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'BlobError'
    this.code = code
  }
}

export const blobNotFound = (digest: string) => new BlobError('not-found', `blob ${digest} does not exist`)

export const uploadNotFound = (id: string) => new BlobError('not-found', `upload ${id} does not exist`)

export const offsetMismatch = (offset: number, size: number) =>
  new BlobError('offset-mismatch', `the upload has ${size} bytes, so it cannot continue at byte ${offset}`)

export const digestMismatch = (expected: string, actual: string) =>
  new BlobError('digest-mismatch', `the content has the digest ${actual}, not ${expected}`)

export const tooLarge = (maxBytes: number) =>
  new BlobError('too-large', `an upload may have at most ${maxBytes} bytes`)

export const smallChunks = (chunks: number, bytes: number) =>
  new BlobError(
    'small-chunks',
    `${chunks} consecutive chunks must contain at least ${bytes} bytes; begin a new upload with larger chunks`,
  )

export const outOfRange = (first: number, size: number) =>
  new BlobError('range', `the range starts at byte ${first}, but the blob has ${size} bytes`)

/** Converts a failure of the file system to an error that callers can handle. */
export function fileError(error: unknown): BlobError {
  if (error instanceof BlobError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  // EFBIG: the operator limits the size of files (ulimit -f).
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') {
    return new BlobError('no-space', `no space is left for content (${code})`, error)
  }
  return new BlobError('unavailable', `the folder for content cannot be used (${code})`, error)
}

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'
