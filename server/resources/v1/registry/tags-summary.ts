// Summaries of the tags of a repo, which v2 does not have. The tags are those that the lists of v2 return.
import { create } from '@bufbuild/protobuf'
import type {
  GetRepoTagsSummaryRequest,
  UpdateStatusRequest,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { RepoTagsSummarySchema, UpdateStatusSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import type { Tag } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { notFound } from '../../../aip/errors.ts'
import type { Demand } from '../../../policy/admit.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { CallV2 } from '../call-v2.ts'
import type { V1Dependencies } from '../dependencies.ts'
import { tagToV1 } from './conversion.ts'

const { listTags } = TagsService.method

/** An update is recent if it is younger than this. */
const recentMs = 24 * 60 * 60 * 1000
const tagsPerPage = 200
/** Bounds the search for the longest name among the tags of an image. */
const maxPages = 5
/** Names that are no versions. */
const movingNames = new Set(['latest', 'latest-dev'])

export const tagsSummaryMethods = ({ store, callV2, now }: V1Dependencies) => ({
  async getRepoTagsSummary(call: Call<GetRepoTagsSummaryRequest>) {
    await store.read(() => requireRepo(call.demand))
    const filter = filterOf(call.request)
    const newest = { ...filter, orderBy: 'update_time desc', pageSize: 1 }
    const { tags, totalCount = 0n } = (await callV2(call, listTags, newest)).message
    const [lastMoved] = tags
    const named = await callV2(call, listTags, { uidp: filter.uidp, name: 'latest', pageSize: 1 })
    const latest = named.message.tags[0] ?? lastMoved
    const summary = create(RepoTagsSummarySchema, { id: call.request.repoId, tagCount: totalCount })
    // A tag that was created or deleted between the two lists is in one of them only.
    if (lastMoved && latest) {
      if (lastMoved.updateTime) summary.lastUpdated = lastMoved.updateTime
      summary.latestTag = tagToV1(latest)
      summary.latestVersion = await versionOf(callV2, call, filter, latest)
    }
    return messageReply(RepoTagsSummarySchema, summary)
  },

  getUpdateStatus: ({ demand }: Call<UpdateStatusRequest>) =>
    store.read(function* () {
      yield* requireRepo(demand)
      const since = now() - recentMs
      const row = yield* first(
        sql`select 1 from tags where parent = ${demand.scope} and update_time > ${since} limit 1`,
      )
      return messageReply(
        UpdateStatusSchema,
        create(UpdateStatusSchema, { recentlyUpdated: row !== undefined }),
      )
    }),
})

type Filter = ReturnType<typeof filterOf>

const filterOf = (request: GetRepoTagsSummaryRequest) => ({
  uidp: { childrenOf: request.repoId },
  includeReferrers: !request.excludeReferrers,
  includeDates: !request.excludeDates,
  includeEpochs: !request.excludeEpochs,
})

function* requireRepo(demand: Demand): Work<void> {
  yield* admitToRead(demand)
  const row = yield* first(sql`select 1 from repos where uid = ${demand.scope}`)
  if (!row) throw notFound(RepoSchema.typeName, demand.scope)
}

/** The longest name among the other tags of the image. Of two equally long names, the one that sorts last. */
async function versionOf(callV2: CallV2, call: Call, filter: Filter, { uid, digest }: Tag): Promise<string> {
  let version = ''
  if (digest === '') return version
  for (let [page, pageToken] = [0, '']; page < maxPages; page++) {
    const request = { ...filter, digest, pageSize: tagsPerPage, pageToken }
    const { message } = await callV2(call, listTags, request)
    for (const tag of message.tags)
      if (tag.uid !== uid && !movingNames.has(tag.name) && isLonger(tag.name, version)) version = tag.name
    pageToken = message.nextPageToken
    if (pageToken === '') break
  }
  return version
}

const isLonger = (name: string, than: string) =>
  name.length > than.length || (name.length === than.length && name > than)
