// The interface of the drivers. Blobs are addressed by digest and shared by all repositories, so a caller must have
// checked that the reader may see the blob.
import type { Readable, Writable } from 'node:stream'
import type { BlobError } from './blob-error.ts'
import type { Algorithm, Digest } from './digest.ts'

export type BlobStore = {
  /** Returns undefined if the blob does not exist. */
  size(digest: Digest): Promise<number | undefined>
  /** Opens a blob. The content must be sent, streamed or closed. Throws `not-found` and `range`. */
  read(digest: Digest, range?: ByteRange): Promise<BlobContent>
  /**
   * Deletes a blob. Does nothing if it does not exist. Readers that opened it before may read on. After `signal` has
   * aborted, the storage is not asked to delete the blob.
   */
  delete(digest: Digest, signal?: AbortSignal): Promise<void>
  /** Lists all blobs in the order of their digests, so that a check can merge them with the rows of the store. */
  list(): AsyncIterable<StoredBlob>
  /** A URL that is valid for a few minutes. Only if the driver can make one and is configured to. */
  redirectUrl?(digest: Digest): Promise<string>

  /**
   * Begins an upload. The caller chooses the id (see `isUploadId`) and keeps the returned value. `algorithm` is the
   * algorithm of the digest if it is known already: with another one, `finish` reads the content again.
   */
  begin(id: string, algorithm?: Algorithm): Promise<Upload>
  /**
   * Appends the body. If the body or the storage fails, the bytes stored so far are kept, so the
   * caller stores the returned upload first, and then handles `failure`. Exception: if the disk is
   * full, the driver for files removes the bytes of this append. If `append` throws, nothing has
   * changed: `not-found`, `busy`, `offset-mismatch`, `small-chunks`, or a failure of the storage
   * before the first byte.
   *
   * Only concurrent calls of one driver throw `busy`. If several threads or copies use the same
   * storage, the caller must make sure that only one of them appends to an upload or finishes it at
   * a time.
   */
  append(upload: Upload, body: Readable, options?: AppendOptions): Promise<Appended>
  /** The number of bytes received. It can exceed `upload.size` if the process was killed during an append. */
  uploadSize(upload: Upload): Promise<number>
  /**
   * Checks the digest and publishes the blob: it is durable before it becomes visible. Returns its size. If the blob
   * exists already, it is replaced by the same bytes. The upload is gone afterwards, also after `digest-mismatch`.
   */
  finish(upload: Upload, digest: Digest): Promise<number>
  /** Deletes the bytes of an upload. Does nothing if there are none. `state` is optional, for abandoned uploads. */
  discard(upload: Pick<Upload, 'id'> & Partial<Upload>): Promise<void>
  /**
   * Lists uploads to which nothing was written since `before` (milliseconds since 1970) and that
   * this driver is not using. In S3, sending a part does not count as writing, so the caller must
   * skip uploads that another copy is receiving.
   */
  abandoned(before: number): AsyncIterable<AbandonedUpload>

  /** Throws if the storage cannot be used. Called at the start of the server. */
  check(): Promise<void>
  close(): Promise<void>
}

/** Positions of the first and the last byte, both inclusive as in HTTP (RFC 9110, section 14.1.2). */
export type ByteRange = { first: number; last: number }

export type BlobContent = {
  /** Size of the whole blob in bytes. */
  readonly size: number
  /** Number of bytes that will be sent: the range, cut at the end of the blob. */
  readonly length: number
  /**
   * Writes the content and waits until it is written. Does not end the destination. Twice as fast
   * as `stream`, because it reuses one buffer. So the destination may confirm a write only when it
   * no longer needs the chunk, as a response or a file does. A PassThrough confirms earlier.
   */
  sendTo(destination: Writable, signal?: AbortSignal): Promise<void>
  stream(): Readable
  close(): Promise<void>
}

export type StoredBlob = { digest: Digest; size: number; modifiedAt: number }

/** The caller stores an upload as it is, and passes the stored value to the next call. */
export type Upload = {
  readonly id: string
  /** Bytes received. */
  readonly size: number
  /** Data of the driver, at most 1 MB. Another copy can continue the upload with it. */
  readonly state: string
}

export type AppendOptions = {
  /** The position in the upload at which the body starts. If undefined, the body is appended at the end. */
  offset?: number | undefined
  signal?: AbortSignal | undefined
  /** The largest size that the whole upload may have. */
  maxBytes?: number | undefined
  /**
   * Called when the upload would exceed `maxBytes`, with the size that it would have. Returns the
   * new `maxBytes`; if that is less than `bytes`, the append fails with `too-large`.
   */
  extend?: ((bytes: number) => Promise<number>) | undefined
  /** Whether the driver may free the memory of stored chunks. Only if nothing else reads them. */
  releasesChunks?: boolean | undefined
}

export type Appended = { upload: Upload; failure?: BlobError }

export type AbandonedUpload = { id: string; modifiedAt: number }

/** Ids are names of files and parts of object keys. */
export const isUploadId = (id: string): boolean => /^[0-9a-z][0-9a-z-]{7,63}$/.test(id)
