// Manifests of repos, the tags that point to them, and manifests that refer to others (referrers).
import { create } from '@bufbuild/protobuf'
import type {
  DeleteManifestRequest,
  DeleteTagNameRequest,
  GetManifestRequest,
  ListReferrersRequest,
  ListTagMovesRequest,
  ListTagNamesRequest,
  PutManifestRequest,
} from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { ListTagNamesResponseSchema } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { BoundedMap } from '../../../bounded-map.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { emptyReply, messageReply } from '../../../wire/reply.ts'
import { removeEntry } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { patternsIn, requireMutable, requireNoImmutableTagOf } from '../immutable-tags.ts'
import { releaseBlobs } from '../release-content.ts'
import { removeManifest } from '../remove-manifest.ts'
import { tags } from '../tags/table.ts'
import { noteLossOfTag } from '../untagged.ts'
import { admitToPull, pullRow } from './admit-to-pull.ts'
import { noManifest } from './content-errors.ts'
import type { KnownManifests } from './known-manifests.ts'
import { openKnownManifests } from './known-manifests.ts'
import { manifestReply, manifestRow } from './manifest-row.ts'
import { putManifest } from './put-manifest.ts'
import { referrersReply } from './referrers.ts'
import { requireRepo, throwMissing } from './require-repo.ts'
import { tagMovesReply } from './tag-moves.ts'

export const manifestMethods = (deps: Dependencies) => ({
  getManifest: getManifestWith(deps, openKnownManifests()),

  listTagNames: (call: Call<ListTagNamesRequest>) =>
    deps.store.read(function* () {
      yield* admitToPull(deps.settings, call.demand)
      return yield* tagNamesReply(call.request)
    }),

  listTagMoves: (call: Call<ListTagMovesRequest>) =>
    deps.store.read(function* () {
      yield* admitToPull(deps.settings, call.demand)
      return yield* tagMovesReply(call.request)
    }),

  listReferrers: (call: Call<ListReferrersRequest>) =>
    deps.store.read(function* () {
      yield* admitToPull(deps.settings, call.demand)
      return yield* referrersReply(call.request)
    }),

  putManifest: putManifestWith({ ...deps, knownPlatforms: new BoundedMap(maxKnownPlatforms) }),

  /**
   * A manifest can have any number of tags, so they are deleted in batches. If the call is
   * interrupted between two batches, it can be repeated. All tags are checked before the first batch; an immutable tag
   * that is pushed later stops the deletion when its batch is deleted.
   */
  async deleteManifest(call: Call<DeleteManifestRequest>) {
    for (let isFirst = true, isDone = false; !isDone; isFirst = false)
      isDone = await deps.store.write(() => deleteOrUntag(deps, call, isFirst), call.deadline)
    return emptyReply
  },

  deleteTagName: (call: Call<DeleteTagNameRequest>) =>
    deps.store.write(function* () {
      const access = yield* admitToWrite(call.demand)
      const { repo, name } = call.request
      // Locks the tag before its manifest. Pushes lock in the same order, so that there is no deadlock.
      const row = yield* first(sql`select t.uid, r.immutable_tags from tags t join repos r on r.uid = t.parent
        where t.parent = ${repo} and t.name = ${name} /*pg for update of t */`)
      if (!row) return yield* throwMissing(repo, noManifest(name))
      requireMutable(name, patternsIn(row[1]), 'deleted')
      yield noteLossOfTag(row[0] as string, deps.now())
      yield* removeEntry(access, tags, row[0] as string)
      return emptyReply
    }, call.deadline),
})

const getManifestWith =
  (deps: Dependencies, knownManifests: KnownManifests) =>
  ({ demand, request }: Call<GetManifestRequest>) => {
    const { repo, reference, withoutContent } = request
    const known = withoutContent ? undefined : knownManifests.of(repo, reference)
    return pullRow(deps, demand, manifestRow(request, known?.digest ?? ''), {
      reply(row) {
        const [digest, , , content] = row as [string, string, number, Uint8Array | null]
        if (content) knownManifests.remember(repo, reference, { digest, content })
        return manifestReply(row, withoutContent ? null : (content ?? known?.content ?? null))
      },
      missing: () => noManifest(reference),
      describe: (row, error) => ({
        ...{ type: 'manifest', reference, digest: String(row?.[0] ?? ''), error },
      }),
    })
  }

const maxKnownPlatforms = 10_000

const putManifestWith = (deps: Parameters<typeof putManifest>[0]) => (call: Call<PutManifestRequest>) =>
  putManifest(deps, call)

/** How many tags one transaction deletes. */
const tagsPerBatch = 100

/**
 * Deletes a batch of the manifest's tags, and after the last batch also the manifest. Returns
 * whether the manifest was deleted.
 */
function* deleteOrUntag(
  { now }: Dependencies,
  { demand, request }: Call<DeleteManifestRequest>,
  isFirst: boolean,
): Work<boolean> {
  const access = yield* admitToWrite(demand)
  const { repo, digest } = request
  // Until this transaction ends, no push can point a tag to the manifest (see lockRepo).
  const locked = yield* first(sql`select immutable_tags from repos where uid = ${repo} /*pg for update */`)
  const row = yield* first(sql`select 1 from manifests where repo = ${repo} and digest = ${digest}`)
  if (!locked || !row) return yield* throwMissing(repo, noManifest(digest))
  const patterns = patternsIn(locked[0])
  if (isFirst) yield* requireNoImmutableTagOf(repo, digest, patterns)
  // Other calls can still delete a tag. PostgreSQL waits for them, and skips a tag that they have deleted.
  const pointing = yield sql`select uid, name from tags where parent = ${repo} and digest = ${digest}
    order by uid limit ${tagsPerBatch} /*pg for update */`
  for (const [, name] of pointing) requireMutable(name as string, patterns, 'deleted')
  for (const [uid] of pointing) yield* removeEntry(access, tags, uid as string)
  if (pointing.length === tagsPerBatch) return false
  yield* releaseBlobs(access, repo, digest, now())
  yield* removeManifest(access, repo, digest)
  return true
}

function* tagNamesReply({ repo, limit, after }: ListTagNamesRequest): Work<Reply> {
  const rows = yield sql`select name from tags where parent = ${repo} and name > ${after}
    order by name limit ${limit + 1}`
  if (rows.length === 0) yield* requireRepo(repo)
  const names = rows.slice(0, limit).map(([name]) => name as string)
  return messageReply(
    ListTagNamesResponseSchema,
    create(ListTagNamesResponseSchema, { names, hasMore: rows.length > limit }),
  )
}
