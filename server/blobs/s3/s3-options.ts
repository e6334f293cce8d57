export type S3Options = {
  bucket: string
  region: string
  /** A URL. Default: the endpoint of AWS in the region. */
  endpoint?: string | undefined
  /** Whether the bucket is in the path rather than in the host name. Default: true if `endpoint` is set. */
  pathStyle?: boolean | undefined
  /** Put before all keys, so that a bucket can be shared. */
  prefix?: string | undefined
  credentials: StaticCredentials | WebIdentity
  /**
   * How long the URLs that clients are redirected to are valid (`BlobStore.redirectUrl`). If
   * undefined, nobody is redirected: all content passes through the server.
   */
  redirectSeconds?: number | undefined
  /** A local folder for the parts of running uploads: at most two parts for each. */
  spoolFolder: string
  limits?: Partial<S3Limits> | undefined
}

export type StaticCredentials = {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
}

/** The workload's own token, exchanged for short-lived credentials (AssumeRoleWithWebIdentity). */
export type WebIdentity = {
  roleArn: string
  /** Read again for each exchange, because the platform replaces it. */
  tokenFile: string
  sessionName?: string | undefined
  /** Default: the endpoint of AWS in the region. */
  stsEndpoint?: string | undefined
}

export type S3Limits = {
  /** Size of the parts of an upload. S3 requires at least 5 MiB; R2 requires equal sizes, except for the last. */
  partBytes: number
  /** The largest object that is copied by one request. S3 allows 5 GiB. */
  copyBytes: number
  /** Size of the parts of a larger copy. */
  copyPartBytes: number
  /**
   * The maximum number of appends without a full part. Each of them rewrites the bytes after the last part, up to 16 MiB.
   * Chunks of 164 KiB or more fill a part in 100 appends.
   */
  maxTailWrites: number
  /** Keys in a page of a list. S3 allows 1000. */
  pageKeys: number
  /** Tries of a request, with pauses between them that double. */
  attempts: number
  firstPauseMs: number
  /** How many requests run at a time, not counting reads of blobs. The others wait. */
  maxSockets: number
  /** How long a request waits for others to end. */
  maxWaitMs: number
  /** How long a connection may be idle. */
  idleTimeoutMs: number
  /** The same while S3 copies or assembles an object. */
  slowIdleTimeoutMs: number
}

export const defaultLimits: S3Limits = {
  partBytes: 16 * 1024 * 1024,
  copyBytes: 5 * 1024 ** 3,
  copyPartBytes: 512 * 1024 * 1024,
  maxTailWrites: 100,
  pageKeys: 1000,
  attempts: 5,
  firstPauseMs: 200,
  maxSockets: 128,
  maxWaitMs: 60_000,
  idleTimeoutMs: 30_000,
  slowIdleTimeoutMs: 600_000,
}

/** S3 assembles an object from at most this many parts. */
export const maxParts = 10_000
