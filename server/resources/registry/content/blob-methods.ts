// Blobs of repos: who may read, share and remove them.
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type {
  DeleteBlobRequest,
  GetBlobRequest,
  MountBlobRequest,
} from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { BlobSchema, MountBlobResponseSchema } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { isUid } from '../../../aip/uid.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import type { Grants } from '../../../policy/grants.ts'
import { grantedRegions, holds } from '../../../policy/grants.ts'
import { readGrants } from '../../../policy/read-grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Caller } from '../../../wire/caller.ts'
import { emptyReply, messageReply, unencodedReply } from '../../../wire/reply.ts'
import type { RepoAccess } from '../../../wire/repo-access.ts'
import type { Dependencies, Settings } from '../../dependencies.ts'
import { hasManifest, lastUseCutoff } from '../blob-use.ts'
import { recordDeletion } from '../record-deletion.ts'
import { pullRow } from './admit-to-pull.ts'
import { blobRow, linkBlob, lockBlob, readBlobSize, unlinkBlob } from './blob-rows.ts'
import { noBlob, usedBlob } from './content-errors.ts'
import { findRepoFor } from './find-repo-for.ts'
import { recordBlobPush } from './record-push.ts'
import { lockRepo, throwMissing } from './require-repo.ts'

/** The reply contains a digest and a size. */
const maxBlobReplyBytes = 200

export const blobMethods = (deps: Dependencies) => ({
  getBlob({ demand, request: { repo, digest } }: Call<GetBlobRequest>) {
    const cutoff = lastUseCutoff(deps.now(), deps.settings.contentGraceMs)
    return pullRow(deps, demand, blobRow(repo, digest, cutoff), {
      reply: ([size]) =>
        unencodedReply(
          BlobSchema,
          create(BlobSchema, { digest, size: BigInt(size as number) }),
          maxBlobReplyBytes,
        ),
      missing: () => noBlob(digest),
      describe: (_, error) => ({ type: 'blob', reference: digest, digest, error }),
    })
  },

  mountBlob: (call: Call<MountBlobRequest>) =>
    deps.store.write(function* () {
      const access = yield* admitToWrite(call.demand)
      const { digest, source } = call.request
      const repo = yield* lockRepo(call.request.repo)
      const time = deps.now()
      const cutoff = lastUseCutoff(time, deps.settings.contentGraceMs)
      const mounted =
        (yield* mayReadBlob(deps.settings, access.caller, { time, cutoff }, source, digest)) &&
        (yield* lockBlob(digest))
      if (mounted) {
        yield* linkBlob(access, repo, digest, time)
        yield* recordBlobPush(access, call.demand, digest)
      }
      return messageReply(MountBlobResponseSchema, create(MountBlobResponseSchema, { mounted }))
    }, call.deadline),

  deleteBlob: (call: Call<DeleteBlobRequest>) =>
    deps.store.write(function* () {
      const access = yield* admitToWrite(call.demand)
      const { repo, digest } = call.request
      const link = yield* first(
        sql`select 1 from repo_blobs where repo = ${repo} and digest = ${digest} /*pg for update */`,
      )
      if (!link) return yield* throwMissing(repo, noBlob(digest))
      const use = yield* first(
        sql`select manifest from manifest_references where repo = ${repo} and digest = ${digest} limit 1`,
      )
      if (use) throw usedBlob(digest, use[0] as string)
      yield sql`update blobs set unused_since = ${deps.now()} where digest = ${digest}`
      yield* unlinkBlob(access, repo, digest)
      yield* recordDeletion(access, repo, 'blob', digest)
      return emptyReply
    }, call.deadline),
})

const capabilities = [Capability.CAP_REPO_BLOBS_GET]

/** Callers with grants in more regions must name the repo that has the blob. */
const maxRegions = 100

type Times = { time: number; cutoff: number }

/**
 * Whether the caller may read the blob in the source or, without a source, in any repo. A blob that
 * the caller may not read looks like one that does not exist: otherwise anyone could ask which
 * content other organizations have.
 */
function* mayReadBlob(
  settings: Settings,
  caller: Caller,
  times: Times,
  source: string,
  digest: string,
): Work<boolean> {
  if (caller.repos)
    return yield* mayReadInRepos(settings, { ...caller, repos: caller.repos }, times, source, digest)
  const { time, cutoff } = times
  if (source !== '') {
    if (!isUid(source)) return false
    const grants = yield* readGrants(caller, time, source)
    return yield* isReadable(grants, source, digest, cutoff)
  }
  const regions = grantedRegions(yield* readGrants(caller, time, undefined), capabilities)
  for (const { uid } of regions.slice(0, maxRegions)) {
    // The repo is at or below the uid of the region: `0` is the character after `/`.
    const row = yield* first(sql`select 1 from repo_blobs where digest = ${digest}
      and (repo = ${uid} or (repo > ${`${uid}/`} and repo < ${`${uid}0`}))
      and (unused_since is null or unused_since > ${cutoff} or ${hasManifest}) limit 1`)
    if (row) return true
  }
  return false
}

/** The same with a token of the registry, which allows the caller to pull from some repos only. It names at most 20. */
function* mayReadInRepos(
  settings: Settings,
  caller: Caller & { repos: readonly RepoAccess[] },
  { time, cutoff }: Times,
  source: string,
  digest: string,
): Work<boolean> {
  const grants = yield* readGrants(caller, time, undefined)
  for (const { name } of caller.repos.filter(({ actions }) => actions.includes('pull'))) {
    const found = yield* findRepoFor(settings, grants, name)
    if (found.kind !== 'repo' || (source !== '' && source !== found.uid)) continue
    if (yield* isReadable(grants, found.uid, digest, cutoff)) return true
  }
  return false
}

function* isReadable(grants: Grants, repo: string, digest: string, cutoff: number): Work<boolean> {
  return holds(grants, capabilities, repo) && (yield* readBlobSize(repo, digest, cutoff)) !== undefined
}
