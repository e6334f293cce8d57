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
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { raw, sql } from '../../../store/sql.ts'
import { deleteChildren } from '../../../store/table.ts'
import { first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import { createResource } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources } from '../../list.ts'
import { defineResource } from '../../resource.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../../stored-resource.ts'
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
    await store.read(() => admitToRead(demand))
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
        beforeCreate(draft) {
          removeUnset(draft)
          return { readme: readme ?? '' }
        },
        conflict,
      })
    },

    async updateRepo(call: Call<UpdateRepoRequest>) {
      await requireHarmless(call.demand, readme)
      return updateResource(deps, repos, call, {
        beforeUpdate({ merged }) {
          removeUnset(merged)
          return readme === undefined ? {} : { readme }
        },
        conflict,
      })
    },

    deleteRepo: (call: Call) =>
      deleteResource(deps, repos, call, {
        beforeDelete: (uid, access) => deleteChildren(access, tags.table, uid, lineage(uid)),
      }),

    getRepoReadme: (call: Call) =>
      store.read(function* () {
        yield* admitToRead(call.demand)
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
        const access = yield* admitToWrite(demand)
        const uid = demand.scope
        const stored = yield* lockResource(repos, uid)
        if (!stored) throw notFound(RepoSchema.typeName, uid)
        requireMatch(call.ifMatch, stored.updateTime)
        const updateTime = nextUpdateTime(now(), stored.updateTime)
        const repo = { ...stored.resource, updateTime: timestampFromMs(updateTime) }
        yield* replaceResource(access, repos, repo, { uid, updateTime, columns: { readme: content } })
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

/** Optional fields without a value are left out of replies. */
function removeUnset(repo: Repo): void {
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
