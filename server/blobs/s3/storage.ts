import type { Pace } from '../pace.ts'
import type { S3Keys } from './keys.ts'
import type { S3Multipart } from './multipart.ts'
import type { S3Objects } from './objects.ts'
import type { S3Limits } from './s3-options.ts'

/** The clients, the layout of the bucket (keys.ts) and the limits that all operations of the driver share. */
export type S3Storage = {
  objects: S3Objects
  multipart: S3Multipart
  keys: S3Keys
  limits: S3Limits
  spoolFolder: string
  pace: Pace
}
