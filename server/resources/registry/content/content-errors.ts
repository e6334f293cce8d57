// Errors about the content of repos: manifests, blobs and uploads.
import { Code } from '../../../aip/code.ts'
import type { StatusError } from '../../../aip/errors.ts'
import { registryError } from '../../../aip/registry-error.ts'

export const noRepo = () => registryError('NAME_UNKNOWN', Code.NOT_FOUND, 'there is no such repo')

export const noManifest = (reference: string) =>
  registryError('MANIFEST_UNKNOWN', Code.NOT_FOUND, `the repo has no manifest ${reference}`)

export const noBlob = (digest: string) =>
  registryError('BLOB_UNKNOWN', Code.NOT_FOUND, `the repo has no blob ${digest}`)

export const noUpload = () =>
  registryError('BLOB_UPLOAD_UNKNOWN', Code.NOT_FOUND, 'the repo has no such upload; begin a new one')

const busySeconds = 5

export const busyUpload = () =>
  registryError(
    'BLOB_UPLOAD_INVALID',
    Code.ABORTED,
    `another request is using this upload; try again in ${busySeconds} seconds, or begin a new upload`,
    { headers: { 'retry-after': String(busySeconds) } },
  )

const manyUploadsSeconds = 60

/** `messageStart` is "you have" or "the organization has". */
export const manyUploads = (messageStart: string, count: number) =>
  registryError(
    'TOOMANYREQUESTS',
    Code.RESOURCE_EXHAUSTED,
    `${messageStart} ${count} unfinished uploads, and no more can be begun; finish or cancel them, or wait until they expire`,
    { headers: { 'retry-after': String(manyUploadsSeconds) } },
  )

export const invalidManifest = (text: string) =>
  registryError('MANIFEST_INVALID', Code.INVALID_ARGUMENT, text)

const maxNamed = 10

/** `digests` are those of content that the manifest refers to and the repo does not have. */
export function missingContent(digests: readonly string[]): StatusError {
  const named = digests.slice(0, maxNamed).join(', ')
  const others = digests.length > maxNamed ? ` and ${digests.length - maxNamed} others` : ''
  return registryError(
    'MANIFEST_BLOB_UNKNOWN',
    Code.NOT_FOUND,
    `push ${named}${others} first: the manifest refers to this content, and the repo does not have it`,
  )
}

export const usedBlob = (digest: string, manifest: string) =>
  registryError(
    'UNSUPPORTED',
    Code.FAILED_PRECONDITION,
    `blob ${digest} is part of manifest ${manifest}; delete the manifest first`,
    { http: 405 },
  )
