// Finds blobs that may be SBOMs of an image: layers of the manifests that refer to it, of the tags that cosign names
// after its digest, and of the attestations that BuildKit adds to the index of the image.
import { parseDigest } from '../../../../blobs/digest.ts'
import { among, raw, sql } from '../../../../store/sql.ts'
import type { Work } from '../../../../store/work.ts'
import { readManifest } from '../manifest.ts'

export type SbomBlob = { digest: string; size: number }

/** Bounds the search. Manifests of SBOMs and attestations have about 1 KB. */
const maxReferrers = 256
const maxManifests = 32
const maxManifestBytes = 64 * 1024
const maxIndexes = 8
/** The maximum total size of the parsed manifests. The parsed indexes have the same maximum. */
const maxParsedBytes = 512 * 1024
const maxBlobs = 16

/** Documents come before attestations, most of which are about something else. */
const mediaTypes = [
  'application/spdx+json',
  'text/spdx+json',
  'spdx+json',
  'application/vnd.cyclonedx+json',
  'application/vnd.in-toto+json',
  'application/vnd.dsse.envelope.v1+json',
  'application/vnd.dev.sigstore.bundle.v0.3+json',
  'application/vnd.dev.sigstore.bundle+json;version=0.3',
]

/** In the order in which they should be read. The repo has all of them. */
export function* findSbomBlobs(repo: string, image: string): Work<SbomBlob[]> {
  const layers = (yield* readDescriptions(repo, image)).flatMap(layersOf)
  const ranked = layers.sort((a, b) => a.rank - b.rank).slice(0, maxBlobs)
  if (ranked.length === 0) return []
  const rows = yield sql`select b.digest, b.size from repo_blobs r join blobs b on b.digest = r.digest
    where r.repo = ${repo} and r.digest in ${among([...new Set(ranked.map(({ digest }) => digest))])}`
  const sizes = new Map(rows as [string, number][])
  return ranked.flatMap(({ digest }) => {
    const size = sizes.get(digest)
    sizes.delete(digest)
    return size === undefined ? [] : { digest, size }
  })
}

type Description = { mediaType: string; content: Uint8Array }

/** The manifests that describe the image, the newest first. */
function* readDescriptions(repo: string, image: string): Work<Description[]> {
  // Cosign replaces the colon, which tags cannot contain. It creates such tags only for sha256.
  const tag = parseDigest(image)?.replace(':', '-') ?? ''
  const attestations = yield* findAttestations(repo, image)
  const found = yield sql`select digest, size from manifests
    where repo = ${repo} and size <= ${maxManifestBytes} and (${isAmong(attestations)} or digest in (
      select digest from (select digest from manifests where repo = ${repo} and subject = ${image}
        order by digest limit ${maxReferrers}) referrers
      union all
      select digest from tags where parent = ${repo} and name in ${among([`${tag}.sbom`, `${tag}.att`])}))
    order by create_time desc, digest limit ${maxManifests}`
  const digests = withinBytes(found as [string, number][])
  if (digests.length === 0) return []
  const rows = yield sql`select media_type, content from manifests
    where repo = ${repo} and digest in ${among(digests)} order by create_time desc, digest`
  return rows.map(([mediaType, content]) => ({
    ...{ mediaType: mediaType as string, content: content as Uint8Array },
  }))
}

const isAmong = (digests: readonly string[]) =>
  digests.length === 0 ? raw('1 = 0') : sql`digest in ${among(digests)}`

/** The digests of the first manifests, up to a total size of `maxParsedBytes`. */
function withinBytes(manifests: readonly [digest: string, size: number][]): string[] {
  let bytes = 0
  return manifests.flatMap(([digest, size]) => {
    bytes += size
    return bytes <= maxParsedBytes ? digest : []
  })
}

/** The manifests that indexes mark as attestations about the image. */
function* findAttestations(repo: string, image: string): Work<string[]> {
  const found = yield sql`select m.digest, m.size from manifest_references r
    join manifests m on m.repo = r.repo and m.digest = r.manifest
    where r.repo = ${repo} and r.digest = ${image} and r.kind = 'manifest'
    order by m.create_time desc, m.digest limit ${maxIndexes}`
  const indexes = withinBytes(found as [string, number][])
  if (indexes.length === 0) return []
  const rows = yield sql`select media_type, content from manifests
    where repo = ${repo} and digest in ${among(indexes)}`
  const entries = (rows as [string, Uint8Array][]).flatMap(
    ([mediaType, content]) => readManifest(content, mediaType).manifests,
  )
  const attesting = entries.filter(({ attests }) => attests === image).map(({ digest }) => digest)
  return [...new Set(attesting)].slice(0, maxManifests)
}

function layersOf({ mediaType, content }: Description): { digest: string; rank: number }[] {
  const { blobs, config } = readManifest(content, mediaType)
  return blobs
    .filter((blob) => blob !== config)
    .map(({ digest, mediaType: type }) => ({ digest, rank: mediaTypes.indexOf(type) }))
    .filter(({ rank }) => rank >= 0)
}
