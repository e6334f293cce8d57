// Translates failures of the storage into errors of the registry protocol.
import { Code } from '../aip/code.ts'
import type { StatusError } from '../aip/errors.ts'
import { cancelled } from '../aip/errors.ts'
import { registryError } from '../aip/registry-error.ts'
import type { BlobError } from '../blobs/blob-error.ts'

export function blobFailure({ code, message }: BlobError): StatusError {
  switch (code) {
    case 'not-found':
      return registryError('BLOB_UPLOAD_UNKNOWN', Code.NOT_FOUND, message)
    case 'digest-mismatch':
      return registryError('DIGEST_INVALID', Code.INVALID_ARGUMENT, message)
    case 'offset-mismatch':
    case 'range':
      return registryError('RANGE_INVALID', Code.OUT_OF_RANGE, message, { http: 416 })
    case 'too-large':
      return registryError('SIZE_INVALID', Code.INVALID_ARGUMENT, message, { http: 413 })
    case 'small-chunks':
      return registryError('SIZE_INVALID', Code.INVALID_ARGUMENT, message)
    case 'busy':
      return registryError('BLOB_UPLOAD_INVALID', Code.ABORTED, message)
    case 'interrupted':
      return cancelled()
    case 'no-space':
      return registryError('UNAVAILABLE', Code.RESOURCE_EXHAUSTED, message, { http: 507 })
    case 'unavailable':
      return registryError('UNAVAILABLE', Code.UNAVAILABLE, message)
  }
}
