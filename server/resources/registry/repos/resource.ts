// Repos: places for images, each in a group.
import type { MessageShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type {
  CreateRepoRequest,
  ListReposRequest,
  UpdateRepoReadmeRequest,
  UpdateRepoRequest,
} from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import {
  CatalogTier,
  CatalogTierSchema,
  RepoReadmeSchema,
  RepoSchema,
  ReposService,
} from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { invalidField, notFound } from '../../../aip/errors.ts'
import { etagOf, requireMatch } from '../../../aip/etag.ts'
import { lineage } from '../../../aip/uid.ts'
import { violationsOf } from '../../../aip/validate.ts'
import type { Demand } from '../../../policy/admit.ts'
import { admit } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { raw, sql } from '../../../store/sql.ts'
import { deleteContents, keptOf, selectForUpdate, updateEntry } from '../../../store/table.ts'
import { first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import { createResource } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { entryOf, factsOf, messageOf } from '../../kind.ts'
import { equalTo, listResources } from '../../list.ts'
import { defineResource } from '../../resource.ts'
import { updateResource } from '../../update.ts'
import { tags } from '../tags/table.ts'
import { readmeFault } from './readme.ts'
import { repos } from './table.ts'

type Repo = MessageShape<typeof RepoSchema>

const conflict = ({ name }: Repo) => `the group has a repo named ${JSON.stringify(name)} already`

/** `readme` is what a repo says of itself once it is written; without it, it goes on saying what it did. */
export function reposMethods(deps: Dependencies, readme?: string) {
  const { store, now } = deps

  /** Reading a text costs, so it is read for those alone who may write it. */
  async function requireHarmless(demand: Demand, content = ''): Promise<void> {
    if (content === '') return
    await store.read(() => admit(demand, false))
    const [violation] = violationsOf(RepoReadmeSchema, create(RepoReadmeSchema, { content }))
    const fault = violation?.description ?? (await readmeFault(content))
    if (fault !== undefined) throw invalidField('content', fault)
  }

  return {
    getRepo: (call: Call) => getResource(store, repos, call),

    listRepos: (call: Call<ListReposRequest>) =>
      listResources(deps, repos, call, { filters: equalTo(raw('name'), call.request.name ?? '') }),

    async createRepo(call: Call<CreateRepoRequest>) {
      await requireHarmless(call.demand, readme)
      return createResource(deps, repos, call, {
        prepare(draft) {
          settle(draft)
          return [readme ?? '']
        },
        conflict,
      })
    },

    async updateRepo(call: Call<UpdateRepoRequest>) {
      await requireHarmless(call.demand, readme)
      return updateResource(deps, repos, call, {
        revise({ merged, columns: [before] }) {
          settle(merged)
          return [readme ?? (before as string)]
        },
        conflict,
      })
    },

    deleteRepo: (call: Call) =>
      deleteResource(deps, repos, call, {
        before: (uid) => deleteContents(tags.table, uid, lineage(uid)),
      }),

    getRepoReadme: (call: Call) =>
      store.read(function* () {
        yield* admit(call.demand, false)
        const uid = call.demand.scope
        const row = yield* first(sql`select readme, update_time from repos where uid = ${uid}`)
        if (!row) throw notFound(RepoSchema.typeName, uid)
        return readmeReply(uid, row[0] as string, row[1] as number)
      }),

    async updateRepoReadme(call: Call<UpdateRepoReadmeRequest>) {
      const { demand } = call
      const content = call.request.repoReadme?.content ?? ''
      await requireHarmless(demand, content)
      return store.write(function* () {
        yield* admit(demand, true)
        const uid = demand.scope
        const row = yield* first(selectForUpdate(repos.table, uid))
        if (!row) throw notFound(RepoSchema.typeName, uid)
        const { proto, updateTime: before } = keptOf(row)
        requireMatch(call.ifMatch, before)
        const repo = messageOf(repos, proto)
        const updateTime = Math.max(now(), before + 1)
        repo.updateTime = timestampFromMs(updateTime)
        yield* updateEntry(repos.table, entryOf(repos, repo, factsOf(uid, repo, updateTime), [content]))
        return readmeReply(uid, content, updateTime)
      }, call.deadline)
    },
  }
}

export const reposResource = defineResource({
  kind: repos,
  service: ReposService,
  methods: reposMethods,
})

/** What has no value is not shown. */
function settle(repo: Repo): void {
  if (repo.description === '') delete repo.description
  if (repo.catalogTier === undefined) return
  if (!CatalogTierSchema.value[repo.catalogTier])
    throw invalidField('catalog_tier', 'must be one of the catalogue tiers')
  if (repo.catalogTier === CatalogTier.UNSPECIFIED) delete repo.catalogTier
}

const readmeReply = (uid: string, content: string, updateTime: number): Reply => ({
  ...messageReply(RepoReadmeSchema, create(RepoReadmeSchema, { uid, content })),
  etag: etagOf(updateTime),
})
