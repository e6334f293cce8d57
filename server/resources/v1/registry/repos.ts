// Repos of v1, which include the readme. In v2, the readme has calls of its own.
import { create } from '@bufbuild/protobuf'
import type {
  CreateRepoRequest,
  DeleteRepoRequest,
  GetRepoCountBySourceRequest,
  RepoFilter,
  Repo as V1Repo,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import {
  RepoCountSchema,
  RepoListSchema,
  RepoSchema as V1RepoSchema,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import type { Repo } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { Code } from '../../../aip/code.ts'
import { StatusError } from '../../../aip/errors.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Store } from '../../../store/db.ts'
import { among, sql } from '../../../store/sql.ts'
import { all } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import { listAllPages } from '../all-pages.ts'
import type { CallV2 } from '../call-v2.ts'
import { convertReply, deleteReply } from '../convert-reply.ts'
import type { V1Dependencies } from '../dependencies.ts'
import type { FieldRename } from '../error-fields.ts'
import { renameErrorFields } from '../error-fields.ts'
import { uidpFieldRenames, uidpFilter } from '../uidp-filter.ts'
import { nonEmptyV1FieldsOf, repoFromV1, repoToV1, v1FieldsOf } from './conversion.ts'

const v2 = ReposService.method

const renames: FieldRename[] = [
  [/^parent$/, 'parent_id'],
  [/^uid$/, 'id'],
  [/^content$/, 'readme'],
  [/\.username$/, '.user_name'],
  [/\.groupname$/, '.group_name'],
]

export function repoMethods(deps: V1Dependencies) {
  const { store, callV2, callV2WithRepoFields } = deps
  return {
    async createRepo(call: Call<CreateRepoRequest>) {
      const { parentId, repo = create(V1RepoSchema), preventExisting } = call.request
      const callWithFields = callV2WithRepoFields(nonEmptyV1FieldsOf(repo))
      const reply = callWithFields(call, v2.createRepo, { parent: parentId, repo: repoFromV1(repo) })
      try {
        const renamed = renameErrorFields(renames, reply)
        return await convertReply(renamed, V1RepoSchema, (created) => repoToV1(created, repo.readme))
      } catch (error) {
        if (preventExisting || !isConflict(error)) throw error
        const existing = await findRepo(callV2, call, repo.name)
        if (!existing) throw error
        return await renameErrorFields(renames, updateSetFields(deps, call, existing, repo))
      }
    },

    updateRepo(call: Call<V1Repo>) {
      const { id, readme } = call.request
      const repo = { uid: id, ...repoFromV1(call.request) }
      const callWithFields = callV2WithRepoFields(v1FieldsOf(call.request))
      const reply = callWithFields(call, v2.updateRepo, { repo, updateMask: { paths: ['*'] } })
      return convertReply(renameErrorFields(renames, reply), V1RepoSchema, (updated) =>
        repoToV1(updated, readme),
      )
    },

    listRepos(call: Call<RepoFilter>) {
      const { id, uidp, name } = call.request
      const listing = listAllPages(deps, call, {
        method: v2.listRepos,
        request: { uidp: uidpFilter(uidp, { id }), name },
        list: RepoListSchema,
        async items({ repos }) {
          const readmes = await readReadmes(store, repos)
          return repos.map((repo) => repoToV1(repo, readmes.get(repo.uid) ?? ''))
        },
      })
      return renameErrorFields(uidpFieldRenames(id && 'id'), listing)
    },

    async getRepoCountBySource(call: Call<GetRepoCountBySourceRequest>) {
      await store.read(() => admitToRead(call.demand))
      const request = { syncSource: call.request.id, pageSize: 1 }
      const { totalCount = 0n } = (await callV2(call, v2.listRepos, request)).message
      return messageReply(RepoCountSchema, create(RepoCountSchema, { count: totalCount }))
    },

    deleteRepo(call: Call<DeleteRepoRequest>) {
      const reply = callV2(call, v2.deleteRepo, { uid: call.request.id })
      return deleteReply(renameErrorFields(renames, reply))
    },
  }
}

const isConflict = (error: unknown) => error instanceof StatusError && error.code === Code.ALREADY_EXISTS

/** The repo with this name in the parent, if the caller may see it. */
async function findRepo(callV2: CallV2, call: Call<CreateRepoRequest>, name: string) {
  const request = { uidp: { childrenOf: call.request.parentId }, name, pageSize: 1 }
  return (await callV2(call, v2.listRepos, request)).message.repos[0]
}

/**
 * Updates only the fields that the request sets. Clients use Create to make sure that a repo exists, so the other
 * fields must keep their values.
 */
async function updateSetFields(
  { store, callV2WithRepoFields }: V1Dependencies,
  call: Call<CreateRepoRequest>,
  { uid }: Repo,
  repo: V1Repo,
): Promise<Reply> {
  const oldReadme = (await readReadmes(store, [{ uid }])).get(uid) ?? ''
  const callWithFields = callV2WithRepoFields(nonEmptyV1FieldsOf(repo))
  const reply = callWithFields(call, v2.updateRepo, { repo: { uid, ...repoFromV1(repo) } })
  return convertReply(reply, V1RepoSchema, (updated) => repoToV1(updated, repo.readme || oldReadme))
}

/** Returns readmes by the uids of their repos. A caller who may see a repo needs no other capability for its readme. */
const readReadmes = (store: Store, repos: readonly { uid: string }[]) =>
  store.read(function* () {
    const uids = repos.map(({ uid }) => uid)
    if (uids.length === 0) return new Map<string, string>()
    const rows = yield* all(sql`select uid, readme from repos where uid in ${among(uids)}`)
    return new Map(rows as [string, string][])
  })
