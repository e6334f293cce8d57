// Stores a manifest with everything that is known about it, and moves tags to it, in one transaction.
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { PutManifestRequest } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { ManifestSchema } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { permissionDenied } from '../../../aip/errors.ts'
import type { WriteGrants } from '../../../policy/admit.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import { holds } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { among, bulkInsert, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { pointTag } from '../move-tag.ts'
import { postponeReview } from './blob-rows.ts'
import { invalidManifest, missingContent } from './content-errors.ts'
import type { Manifest } from './manifest.ts'
import { InvalidManifest, readManifest } from './manifest.ts'
import { lockRepo } from './require-repo.ts'

export function putManifest({ store, now, random }: Dependencies, call: Call<PutManifestRequest>) {
  const { digest, content, mediaType, tags } = call.request
  return store.write(function* () {
    const access = yield* admitToWrite(call.demand)
    const repo = yield* lockRepo(call.request.repo)
    const manifest = parse(content, mediaType)
    const parts = yield* readParts(repo, manifest)
    const time = now()
    yield* storeManifest(access, { repo, digest, content, time }, manifest, parts)
    for (const name of new Set(tags)) {
      yield* requireTagAccess(access, repo, name)
      yield* pointTag({ access, now, random }, repo, name, digest)
    }
    const subject = manifest.subject?.digest ?? ''
    const size = BigInt(content.length)
    return messageReply(
      ManifestSchema,
      create(ManifestSchema, { digest, mediaType: manifest.mediaType, size, subject }),
    )
  }, call.deadline)
}

function parse(content: Uint8Array, mediaType: string): Manifest {
  try {
    return readManifest(content, mediaType)
  } catch (error) {
    if (error instanceof InvalidManifest) throw invalidManifest(error.message)
    throw error
  }
}

/** Content that the repo has and a manifest consists of, by digest. */
type Parts = ReadonlyMap<string, { kind: 'blob' | 'manifest'; size: number }>

/**
 * Throws if the repo lacks a part. The entries of an index are manifests, or blobs: build tools also store their caches
 * as an index of blobs.
 */
function* readParts(repo: string, { blobs, manifests }: Manifest): Work<Parts> {
  const digests = [...new Set([...blobs, ...manifests].map(({ digest }) => digest))]
  const parts = new Map<string, { kind: 'blob' | 'manifest'; size: number }>()
  if (digests.length === 0) return parts
  // The lock lets nobody remove a part before the manifest refers to it.
  const blobRows = yield sql`select r.digest, b.size from repo_blobs r join blobs b on b.digest = r.digest
    where r.repo = ${repo} and r.digest in ${among(digests)} /*pg for key share of r */`
  for (const [digest, size] of blobRows) parts.set(digest as string, { kind: 'blob', size: size as number })
  if (manifests.length > 0) {
    const rows = yield sql`select digest, total_size from manifests
      where repo = ${repo} and digest in ${among(digests)} /*pg for key share */`
    for (const [digest, size] of rows) parts.set(digest as string, { kind: 'manifest', size: size as number })
  }
  const missing = digests.filter((digest) => !parts.has(digest))
  if (missing.length > 0) throw missingContent(missing)
  return parts
}

type NewManifest = { repo: string; digest: string; content: Uint8Array; time: number }

/** Does nothing if the repo has the manifest: content with the same digest is the same content. */
function* storeManifest(
  _access: WriteAccess,
  { repo, digest, content, time }: NewManifest,
  { mediaType, artifactType, subject, config, annotations, manifests }: Manifest,
  parts: Parts,
): Work<void> {
  const size = content.length
  const totalSize = [...parts.values()].reduce((sum, part) => sum + part.size, size)
  const platforms = manifests.flatMap(({ platform }) => (platform ? platformName(platform) : []))
  const stored = yield sql`insert into manifests (repo, digest, media_type, artifact_type, subject, config,
      annotations, platforms, size, total_size, create_time, content)
    values (${repo}, ${digest}, ${mediaType}, ${artifactType}, ${subject?.digest ?? null},
      ${config?.digest ?? null}, ${JSON.stringify(annotations)}, ${platforms.join(',')}, ${size}, ${totalSize},
      ${time}, ${content}) on conflict do nothing returning digest`
  if (stored.length === 0 || parts.size === 0) return
  yield bulkInsert(
    sql`insert into manifest_references (repo, manifest, digest, kind)`,
    [...parts].map(([part, { kind }]) => [repo, digest, part, kind]),
  )
  const blobs = [...parts].flatMap(([part, { kind }]) => (kind === 'blob' ? part : []))
  if (blobs.length > 0) yield postponeReview(blobs, time)
}

const platformName = ({ os, architecture, variant }: { os: string; architecture: string; variant: string }) =>
  [os, architecture, variant].filter((part) => part !== '').join('/')

/** A push to a new tag creates it, and a push to an existing one moves it: each needs its own capability. */
function* requireTagAccess(grants: WriteGrants, repo: string, name: string): Work<void> {
  const exists = yield* first(sql`select 1 from tags where parent = ${repo} and name = ${name}`)
  const capability = exists ? Capability.CAP_TAG_UPDATE : Capability.CAP_TAG_CREATE
  if (!holds(grants, [capability], repo)) throw permissionDenied(nameOf(capability), repo)
}
