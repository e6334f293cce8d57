// Reads manifests: which content an image, an index or another artifact consists of. Manifests are stored exactly as
// pushed, and fields that are unknown here are kept.
import { parseDigest } from '../../../blobs/digest.ts'
import type { JsonObject } from './bounded-json.ts'
import { isObject, parseJsonObject, UnreadableJson } from './bounded-json.ts'

/** A reference of a manifest to content. */
export type Descriptor = { mediaType: string; digest: string; size: number }

export type Platform = { os: string; architecture: string; variant: string }

export type IndexEntry = Descriptor & {
  /** Absent if the index states none. */
  platform?: Platform
  /** Only for an attestation by BuildKit: the digest of the entry that it is about. */
  attests?: string
}

export type Manifest = {
  mediaType: string
  /** Blobs that must have been pushed: the config, and the layers that may be distributed. */
  blobs: Descriptor[]
  /** Layers that may not be distributed. Some clients push them anyway, to a private registry. */
  optionalBlobs: Descriptor[]
  /** Manifests of an index. */
  manifests: IndexEntry[]
  /** Absent for an index. */
  config?: Descriptor
  /** The manifest that this one describes, such as the image that a signature signs. It need not exist. */
  subject?: Descriptor
  /** The type in lists of referrers; empty if there is none. */
  artifactType: string
  annotations: Record<string, string>
}

/** A manifest that the registry does not store. The message says why, for the person who pushed it. */
export class InvalidManifest extends Error {}

export const mediaTypes = {
  ociManifest: 'application/vnd.oci.image.manifest.v1+json',
  ociIndex: 'application/vnd.oci.image.index.v1+json',
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
  dockerList: 'application/vnd.docker.distribution.manifest.list.v2+json',
}

export const isIndex = (mediaType: string) =>
  mediaType === mediaTypes.ociIndex || mediaType === mediaTypes.dockerList
const isImage = (mediaType: string) =>
  mediaType === mediaTypes.ociManifest || mediaType === mediaTypes.dockerManifest

/** A manifest of 4 MB can contain 30,000 references, and each becomes a row. */
export const maxReferences = 2000
const maxTypeLength = 255
/** Each response that lists referrers contains all of their annotations. */
const maxAnnotations = 1000

/** `contentType` is the header of the request, which may be empty; parameters such as `charset` are ignored. */
export function readManifest(content: Uint8Array, contentType: string): Manifest {
  const fields = parseManifest(content)
  const mediaType = (contentType.split(';')[0] ?? '').trim() || readType(fields.mediaType, 'mediaType')
  if (fields.schemaVersion !== 2) throw new InvalidManifest('schemaVersion must be 2')
  if (fields.mediaType !== undefined && fields.mediaType !== mediaType)
    throw new InvalidManifest(
      `mediaType is ${quote(fields.mediaType)}, but the Content-Type is ${quote(mediaType)}`,
    )
  if (isIndex(mediaType)) return readIndex(fields, mediaType)
  if (isImage(mediaType)) return readImage(fields, mediaType)
  throw new InvalidManifest(
    `the Content-Type ${quote(mediaType)} is not supported; supported are ${Object.values(mediaTypes).join(', ')}`,
  )
}

function readImage(fields: JsonObject, mediaType: string): Manifest {
  if (fields.manifests !== undefined) throw new InvalidManifest('an image manifest must not have manifests')
  const config = readDescriptor(fields.config, 'config')
  const layers = readList(fields.layers, 'layers').map((layer, at) => readDescriptor(layer, `layers[${at}]`))
  const blobs = [config, ...layers.filter((layer) => !isNondistributable(layer.mediaType))]
  const optionalBlobs = layers.filter((layer) => isNondistributable(layer.mediaType))
  return {
    ...{ mediaType, blobs, optionalBlobs, manifests: [], config },
    ...commonOf(fields),
    artifactType: readType(fields.artifactType, 'artifactType') || config.mediaType,
  }
}

function readIndex(fields: JsonObject, mediaType: string): Manifest {
  if (fields.layers !== undefined || fields.config !== undefined)
    throw new InvalidManifest('an index must not have layers or a config')
  const manifests = readList(fields.manifests, 'manifests').map((entry, at) => {
    const descriptor = readDescriptor(entry, `manifests[${at}]`)
    const { platform: stated, annotations } = entry as JsonObject // readDescriptor has checked that it is an object
    const [platform, attests] = [readPlatform(stated), readAttested(annotations)]
    return { ...descriptor, ...(platform && { platform }), ...(attests !== undefined && { attests }) }
  })
  return {
    ...{ mediaType, blobs: [], optionalBlobs: [], manifests },
    ...commonOf(fields),
    artifactType: readType(fields.artifactType, 'artifactType'),
  }
}

/**
 * A public registry may not distribute such layers, so most clients do not push them; the manifest
 * contains their URLs.
 */
const isNondistributable = (mediaType: string) =>
  mediaType.includes('.nondistributable.') || mediaType.includes('.foreign.')

function parseManifest(content: Uint8Array): JsonObject {
  try {
    return parseJsonObject(content)
  } catch (error) {
    throw error instanceof UnreadableJson ? new InvalidManifest(`the manifest is ${error.message}`) : error
  }
}

function commonOf({
  subject,
  annotations,
}: JsonObject): Pick<Manifest, 'annotations'> & { subject?: Descriptor } {
  return {
    ...(subject !== undefined && subject !== null && { subject: readDescriptor(subject, 'subject') }),
    annotations: readAnnotations(annotations),
  }
}

function readDescriptor(value: unknown, field: string): Descriptor {
  if (!isObject(value)) throw new InvalidManifest(`${field} must be a descriptor`)
  const { digest, size } = value
  if (typeof digest !== 'string' || !parseDigest(digest))
    throw new InvalidManifest(
      `${field}.digest must be a digest: sha256: and 64 hexadecimal digits, or sha512: and 128`,
    )
  if (!Number.isSafeInteger(size) || (size as number) < 0)
    throw new InvalidManifest(`${field}.size must be a number of bytes`)
  const mediaType = readType(value.mediaType, `${field}.mediaType`)
  if (mediaType === '') throw new InvalidManifest(`${field}.mediaType is required`)
  return { mediaType, digest, size: size as number } // a safe integer
}

function readList(value: unknown, field: string): unknown[] {
  if (!Array.isArray(value)) throw new InvalidManifest(`${field} must be a list`)
  if (value.length > maxReferences)
    throw new InvalidManifest(`${field} must have at most ${maxReferences} entries`)
  return value
}

const typePattern = new RegExp(`^[ -~]{0,${maxTypeLength}}$`)

function readType(value: unknown, field: string): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string' && typePattern.test(value)) return value
  throw new InvalidManifest(`${field} must be a media type of at most ${maxTypeLength} ASCII characters`)
}

function readPlatform(value: unknown): Platform | undefined {
  if (!isObject(value)) return undefined
  const text = (field: unknown) => (typeof field === 'string' ? field.slice(0, maxTypeLength) : '')
  return { os: text(value.os), architecture: text(value.architecture), variant: text(value.variant) }
}

function readAttested(annotations: unknown): string | undefined {
  if (!isObject(annotations) || annotations['vnd.docker.reference.type'] !== 'attestation-manifest')
    return undefined
  return parseDigest(String(annotations['vnd.docker.reference.digest']))
}

function readAnnotations(value: unknown): Record<string, string> {
  if (value === undefined || value === null) return {}
  if (!isObject(value)) throw new InvalidManifest('annotations must be an object')
  const entries = Object.entries(value)
  if (entries.length > maxAnnotations)
    throw new InvalidManifest(`annotations must have at most ${maxAnnotations} entries`)
  if (entries.some(([, text]) => typeof text !== 'string'))
    throw new InvalidManifest('annotations must have texts as values')
  return Object.fromEntries(entries) as Record<string, string> // all values are texts
}

const quote = (value: unknown) => JSON.stringify(String(value).slice(0, maxTypeLength))
