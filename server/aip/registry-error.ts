// Errors of the registry protocol (OCI Distribution, "Error Codes").
import type { Code } from './code.ts'
import { StatusError } from './errors.ts'

/** The codes of the specification, and those that clients know from the registry of Docker. */
export type RegistryCode =
  | 'BLOB_UNKNOWN'
  | 'BLOB_UPLOAD_INVALID'
  | 'BLOB_UPLOAD_UNKNOWN'
  | 'DENIED'
  | 'DIGEST_INVALID'
  | 'MANIFEST_BLOB_UNKNOWN'
  | 'MANIFEST_INVALID'
  | 'MANIFEST_UNKNOWN'
  | 'NAME_INVALID'
  | 'NAME_UNKNOWN'
  | 'PAGINATION_NUMBER_INVALID'
  | 'RANGE_INVALID'
  | 'SIZE_INVALID'
  | 'TAG_INVALID'
  | 'TOOMANYREQUESTS'
  | 'UNAUTHORIZED'
  | 'UNAVAILABLE'
  | 'UNKNOWN'
  | 'UNSUPPORTED'

/** An error with a code of the registry protocol, which is more specific than its gRPC code. */
export const registryError = (
  registry: RegistryCode,
  code: Code,
  text: string,
  options: { http?: number; headers?: Record<string, string> } = {},
): StatusError => new StatusError(code, text, { ...options, metadata: { registry } })

export const registryCodeOf = ({ metadata }: StatusError): RegistryCode | undefined =>
  metadata.registry as RegistryCode | undefined // only registryError sets it
