// Stores manifests with the references to their parts.
import { among, bulkInsert, raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { platformsIn } from '../tag-content.ts'
import { missingContent } from './content-errors.ts'
import type { Manifest } from './manifest.ts'
import { platformsOfIndex } from './platforms.ts'
import type { Part, Parts } from './total-size.ts'
import { totalSizeOf } from './total-size.ts'

/**
 * Throws if the repo lacks a part. The entries of an index are manifests, or blobs: build tools also store their caches
 * as an index of blobs.
 */
export function* readParts(repo: string, { blobs, optionalBlobs, manifests }: Manifest): Work<Parts> {
  const required = new Set([...blobs, ...manifests].map(({ digest }) => digest))
  const digests = [...required.union(new Set(optionalBlobs.map(({ digest }) => digest)))]
  const parts = new Map<string, Part>()
  if (digests.length === 0) return parts
  // The lock lets nobody remove a part before the manifest refers to it.
  const blobRows = yield sql`select r.digest, b.size from repo_blobs r join blobs b on b.digest = r.digest
    where r.repo = ${repo} and r.digest in ${among(digests)} /*pg for key share of r */`
  for (const [digest, size] of blobRows)
    parts.set(digest as string, { kind: 'blob', size: size as number, platforms: [] })
  if (manifests.length > 0) {
    const rows = yield sql`select digest, size, platforms from manifests
      where repo = ${repo} and digest in ${among(digests)} /*pg for key share */`
    for (const [digest, size, platforms] of rows as [string, number, string][])
      parts.set(digest, { kind: 'manifest', size, platforms: platformsIn(platforms) })
  }
  const missing = [...required].filter((digest) => !parts.has(digest))
  if (missing.length > 0) throw missingContent(missing)
  return parts
}

type NewManifest = { repo: string; digest: string; content: Uint8Array; platforms: string[]; time: number }

/**
 * Content with the same digest is the same content, so a manifest that the repo has is not replaced. Optional blobs that
 * were pushed since and platforms that were not known before are added, and the total size is corrected.
 */
export function* storeManifest(
  access: WriteAccess,
  { repo, digest, content, platforms: configPlatforms, time }: NewManifest,
  manifest: Manifest,
  parts: Parts,
): Work<'new' | 'completed' | undefined> {
  const { mediaType, artifactType, subject, config, annotations, optionalBlobs } = manifest
  const size = content.length
  const totalSize = yield* totalSizeOf(repo, size, parts)
  const indexPlatforms = platformsOfIndex(manifest, (part) => parts.get(part)?.platforms ?? [])
  const platforms = (config ? configPlatforms : indexPlatforms).join(',')
  const stored = yield sql`insert into manifests (repo, digest, media_type, artifact_type, subject, config,
      annotations, platforms, size, total_size, create_time, untagged_since, content)
    values (${repo}, ${digest}, ${mediaType}, ${artifactType}, ${subject?.digest ?? null},
      ${config?.digest ?? null}, ${JSON.stringify(annotations)}, ${platforms}, ${size}, ${totalSize},
      ${time}, ${time}, ${content}) on conflict do nothing returning digest`
  const isNew = stored.length > 0
  if (isNew || optionalBlobs.length > 0) yield* storeReferences(access, repo, digest, parts)
  if (isNew) return 'new'
  const completed = yield sql`update manifests set total_size = ${totalSize},
      platforms = case when platforms = '' then ${platforms} else platforms end
    where repo = ${repo} and digest = ${digest}
      and (total_size <> ${totalSize} or platforms = '' and ${platforms} <> '') returning digest`
  return completed.length > 0 ? 'completed' : undefined
}

function* storeReferences(_access: WriteAccess, repo: string, manifest: string, parts: Parts): Work<void> {
  if (parts.size === 0) return
  yield bulkInsert(
    sql`insert into manifest_references (repo, manifest, digest, kind)`,
    [...parts].map(([part, { kind }]) => [repo, manifest, part, kind]),
    raw('on conflict do nothing'),
  )
}
