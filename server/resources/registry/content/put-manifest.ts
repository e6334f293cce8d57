// Stores a manifest with everything that is known about it, and moves tags to it, in one transaction.
import { create } from '@bufbuild/protobuf'
import type { PutManifestRequest } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { ManifestSchema } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { StatusError } from '../../../aip/errors.ts'
import type { BoundedMap } from '../../../bounded-map.ts'
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { pointTags, retryTagRace } from '../move-tag.ts'
import { requireRoomOrRelease } from '../release-reserved.ts'
import { adjustRepoSize } from '../repo-size.ts'
import { refreshTags } from '../tag-content.ts'
import { noteEachUntagged } from '../untagged.ts'
import { readBlobSize } from './blob-rows.ts'
import { invalidManifest } from './content-errors.ts'
import type { Manifest } from './manifest.ts'
import { InvalidManifest, readManifest } from './manifest.ts'
import { isImageConfig, maxConfigBytes, platformsOfConfig } from './platforms.ts'
import { readBlob } from './read-blob.ts'
import { recordPush } from './record-push.ts'
import { lockRepo, requireRepo } from './require-repo.ts'
import { readParts, storeManifest } from './store-manifest.ts'

/** The platforms in configurations, by digest. A configuration can have 1 MiB, and is parsed in the event loop. */
export type KnownPlatforms = BoundedMap<string, string[]>

export async function putManifest(
  deps: Dependencies & { knownPlatforms: KnownPlatforms },
  call: Call<PutManifestRequest>,
): Promise<Reply> {
  const { store } = deps
  const pushed = await store.read(() => readPushed(call))
  const platforms = await platformsOfImage(deps, pushed)
  return retryTagRace(() =>
    store.write(() => storeAndTag(deps, call, pushed.manifest, platforms), call.deadline),
  )
}

/**
 * All pushes take these locks in the same order, so that they do not deadlock: the tags by name,
 * and at the end the manifests whose tags have changed, by digest. Other deadlocks, such as in
 * `refreshTags`, are resolved by a retry.
 */
function* storeAndTag(
  { now, random }: Dependencies,
  { demand, request }: Call<PutManifestRequest>,
  manifest: Manifest,
  platforms: string[],
): Work<Reply> {
  const { digest, content } = request
  const access = yield* admitToWrite(demand)
  const repo = yield* lockRepo(request.repo)
  const tags = [...new Set(request.tags)].sort()
  const previous = yield* lockTags(repo, tags)
  const parts = yield* readParts(repo, manifest)
  const pushed = { repo, digest, content, platforms, time: now() }
  const change = yield* storeManifest(access, pushed, manifest, parts)
  const movedFrom = yield* pointTags({ access, now, random }, repo, tags, digest)
  if (change) yield* refreshTags(access, repo, digest)
  const touched = change === 'new' ? movedFrom : [digest, ...movedFrom]
  if (touched.length > 0) yield noteEachUntagged(repo, touched, now())
  if (change === 'new') {
    yield* requireRoomOrRelease(access, repo, content.length, now())
    yield* adjustRepoSize(access, repo, { size: content.length, manifests: 1 })
  }
  yield* recordPush(access, demand, { digest, mediaType: manifest.mediaType, tags, previous })
  const [subject, size] = [manifest.subject?.digest ?? '', BigInt(content.length)]
  return messageReply(
    ManifestSchema,
    create(ManifestSchema, { digest, mediaType: manifest.mediaType, size, subject }),
  )
}

/** Returns the digests to which existing tags point, by their names. */
function* lockTags(repo: string, names: readonly string[]): Work<Map<string, string>> {
  if (names.length === 0) return new Map()
  const rows = yield sql`select name, digest from tags where parent = ${repo} and name in ${among(names)}
    order by name /*pg for no key update */`
  return new Map(rows as [string, string][])
}

type Pushed = { manifest: Manifest; configSize: number | undefined }

/** Parses the manifest and reads the size of its configuration, if the repo has it. Throws if pushing is not allowed. */
function* readPushed({ demand, request }: Call<PutManifestRequest>): Work<Pushed> {
  yield* admitToRead(demand)
  yield* requireRepo(request.repo)
  const manifest = parse(request.content, request.mediaType)
  const { config } = manifest
  if (!config || !isImageConfig(config.mediaType)) return { manifest, configSize: undefined }
  return { manifest, configSize: yield* readBlobSize(request.repo, config.digest, 0) }
}

function parse(content: Uint8Array, mediaType: string): Manifest {
  try {
    return readManifest(content, mediaType)
  } catch (error) {
    if (error instanceof InvalidManifest) throw invalidManifest(error.message)
    throw error
  }
}

/**
 * The platform of an image is in its configuration, not in its manifest. Returns no platform if the
 * configuration cannot be read.
 */
async function platformsOfImage(
  { content, knownPlatforms }: Dependencies & { knownPlatforms: KnownPlatforms },
  { manifest, configSize }: Pushed,
): Promise<string[]> {
  if (!manifest.config || configSize === undefined || configSize > maxConfigBytes) return []
  const { digest } = manifest.config
  const known = knownPlatforms.get(digest)
  if (known) return known
  try {
    const config = await readBlob(content, digest, maxConfigBytes)
    if (!config) return []
    const platforms = platformsOfConfig(config)
    knownPlatforms.set(digest, platforms)
    return platforms
  } catch (error) {
    if (error instanceof StatusError) return []
    throw error
  }
}
