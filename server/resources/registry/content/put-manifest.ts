// Stores a manifest with everything that is known about it, and moves tags to it, in one transaction.
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { PutManifestRequest } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { ManifestSchema } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { permissionDenied, StatusError } from '../../../aip/errors.ts'
import type { WriteGrants } from '../../../policy/admit.ts'
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import { holds } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { pointTag } from '../move-tag.ts'
import { adjustRepoSize } from '../repo-size.ts'
import { refreshTags } from '../tag-content.ts'
import { readBlobSize } from './blob-rows.ts'
import { invalidManifest } from './content-errors.ts'
import type { Manifest } from './manifest.ts'
import { InvalidManifest, readManifest } from './manifest.ts'
import { isImageConfig, maxConfigBytes, platformsOfConfig } from './platforms.ts'
import { readBlob } from './read-blob.ts'
import { lockRepo, requireRepo } from './require-repo.ts'
import { readParts, storeManifest } from './store-manifest.ts'

export async function putManifest(deps: Dependencies, call: Call<PutManifestRequest>): Promise<Reply> {
  const { store, now, random } = deps
  const { digest, content, tags } = call.request
  const pushed = await store.read(() => readPushed(call))
  const platforms = await platformsOfImage(deps, pushed)
  return store.write(function* () {
    const access = yield* admitToWrite(call.demand)
    const repo = yield* lockRepo(call.request.repo)
    const { manifest } = pushed
    const parts = yield* readParts(repo, manifest)
    const isChanged = yield* storeManifest(
      access,
      { repo, digest, content, platforms, time: now() },
      manifest,
      parts,
    )
    for (const name of new Set(tags)) {
      yield* requireTagAccess(access, repo, name)
      yield* pointTag({ access, now, random }, repo, name, digest)
    }
    if (isChanged) yield* refreshTags(access, repo, digest)
    if (isChanged === 'new') yield* adjustRepoSize(access, repo, { size: content.length, manifests: 1 })
    const subject = manifest.subject?.digest ?? ''
    const size = BigInt(content.length)
    return messageReply(
      ManifestSchema,
      create(ManifestSchema, { digest, mediaType: manifest.mediaType, size, subject }),
    )
  }, call.deadline)
}

type Pushed = { manifest: Manifest; configSize: number | undefined }

/** Parses the manifest and finds its configuration, if the caller may push and the repo has it. */
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

/** The platform of an image is in its configuration, and not in its manifest. It is unknown if that cannot be read. */
async function platformsOfImage(
  { content }: Dependencies,
  { manifest, configSize }: Pushed,
): Promise<string[]> {
  if (!manifest.config || configSize === undefined || configSize > maxConfigBytes) return []
  try {
    const config = await readBlob(content, manifest.config.digest, maxConfigBytes)
    return config ? platformsOfConfig(config) : []
  } catch (error) {
    if (error instanceof StatusError) return []
    throw error
  }
}

/** A push to a new tag creates it, and a push to an existing one moves it: each needs its own capability. */
function* requireTagAccess(grants: WriteGrants, repo: string, name: string): Work<void> {
  const exists = yield* first(sql`select 1 from tags where parent = ${repo} and name = ${name}`)
  const capability = exists ? Capability.CAP_TAG_UPDATE : Capability.CAP_TAG_CREATE
  if (!holds(grants, [capability], repo)) throw permissionDenied(nameOf(capability), repo)
}
