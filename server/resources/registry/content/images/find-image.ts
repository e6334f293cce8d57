// Finds the image for an architecture. The given digest is that of an image or of an index of images.
import { RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { failedPrecondition, noImage, noImageFor, notFound } from '../../../../aip/errors.ts'
import { among, sql } from '../../../../store/sql.ts'
import type { Work } from '../../../../store/work.ts'
import { first } from '../../../../store/work.ts'
import { platformsIn } from '../../tag-content.ts'
import type { Manifest } from '../manifest.ts'
import { isIndex, readManifest } from '../manifest.ts'
import { platformNameOf } from '../platforms.ts'

export type Image = {
  digest: string
  /** Digest of the configuration. Null for an index. */
  config: string | null
  /** Bytes of the configuration and the layers. */
  size: number
  /** Such as `linux/amd64`. */
  platforms: string[]
}

const defaultArchitecture = 'amd64'
/** An index may contain indexes. In practice, they are not nested more deeply than this. */
const maxDepth = 3
/**
 * The maximum size of all indexes that a search parses, so that it does not block other calls. An
 * index of 2000 images is smaller.
 */
const maxIndexBytes = 2 ** 20

/** `length` is the number of bytes of the manifest itself. */
type ManifestRow = Image & { mediaType: string; length: number }

/** Throws if the repo does not exist or does not have the manifest. The caller has been admitted. */
export function* readImage(repo: string, digest: string): Work<ManifestRow> {
  const row = yield* first(sql`select config, size, total_size, platforms, media_type from manifests
    where repo = ${repo} and digest = ${digest}`)
  if (!row) {
    if (!(yield* first(sql`select 1 from repos where uid = ${repo}`)))
      throw notFound(RepoSchema.typeName, repo)
    throw noImage(digest)
  }
  const [config, length, totalSize, platforms, mediaType] = row as [
    ...[string | null, number, number, string, string],
  ]
  return {
    ...{ digest, config, size: totalSize - length, mediaType, length },
    platforms: platformsIn(platforms),
  }
}

/** `architecture` is empty or a name such as `arm64`, `arm/v7` or `linux/arm64`. */
export function* findImage(repo: string, digest: string, architecture: string): Work<Image> {
  const image = yield* readImage(repo, digest)
  const matching = yield* findIn(repo, image, architecture, { depth: 0, bytes: 0 })
  if (matching) return matching
  throw noImageFor(architecture || defaultArchitecture, digest, image.platforms)
}

/** The number and the size of the indexes that contain the current manifest. */
type Parsed = { depth: number; bytes: number }

function* findIn(
  repo: string,
  image: ManifestRow,
  architecture: string,
  { depth, bytes: bytesAbove }: Parsed,
): Work<Image | undefined> {
  if (!isIndex(image.mediaType)) {
    const isMeant = architecture === '' || image.platforms.some((platform) => isFor(platform, architecture))
    return isMeant ? image : undefined
  }
  if (depth === maxDepth) return undefined
  const wanted = architecture || defaultArchitecture
  const parsed = { depth: depth + 1, bytes: bytesAbove + image.length }
  if (parsed.bytes > maxIndexBytes) throw indexTooLarge(image)
  const { manifests } = yield* readIndex(repo, image)
  const stated = manifests.find(({ platform }) => platform && isFor(platformNameOf(platform) ?? '', wanted))
  if (stated) {
    const entry = yield* readImage(repo, stated.digest)
    // An image with a stated platform is for that platform, whatever its configuration says.
    return isIndex(entry.mediaType) ? yield* findIn(repo, entry, wanted, parsed) : entry
  }
  const unstated = manifests.filter(({ platform }) => !platform).map(({ digest }) => digest)
  const digest = yield* findByPlatform(repo, unstated, wanted)
  return digest === undefined
    ? undefined
    : yield* findIn(repo, yield* readImage(repo, digest), wanted, parsed)
}

function* readIndex(repo: string, { digest, mediaType }: ManifestRow): Work<Manifest> {
  const row = yield* first(sql`select content from manifests where repo = ${repo} and digest = ${digest}`)
  if (!row) throw noImage(digest)
  return readManifest(row[0] as Uint8Array, mediaType)
}

const indexTooLarge = ({ digest, length }: ManifestRow) =>
  failedPrecondition(
    'INDEX_TOO_LARGE',
    `the index ${digest} has ${length} bytes; to find an image, at most ${maxIndexBytes} bytes of indexes are read`,
  )

function* findByPlatform(repo: string, digests: readonly string[], wanted: string): Work<string | undefined> {
  if (digests.length === 0) return undefined
  const rows = (yield sql`select digest, platforms from manifests
    where repo = ${repo} and digest in ${among(digests)} order by digest`) as [string, string][]
  return rows.find(([, platforms]) => platformsIn(platforms).some((platform) => isFor(platform, wanted)))?.[0]
}

/** Whether a platform such as `linux/arm/v7` is meant by `arm`, `arm/v7` or `linux/arm/v7`. */
function isFor(platform: string, wanted: string): boolean {
  const architecture = platform.slice(platform.indexOf('/') + 1)
  return [platform, architecture, architectureOf(platform)].includes(wanted)
}

/** `arm` of `linux/arm/v7`. */
export const architectureOf = (platform: string): string => platform.split('/')[1] ?? ''
