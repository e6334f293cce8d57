// Repos as v1 has them: each with its readme.
import { create } from '@bufbuild/protobuf'
import type {
  CreateRepoRequest,
  DeleteRepoRequest,
  Repo as OldRepo,
  RepoFilter,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { RepoSchema as OldRepoSchema, RepoListSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import type { Repo } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { Code } from '../../../aip/code.ts'
import { StatusError } from '../../../aip/errors.ts'
import type { Call } from '../../../rpc/call.ts'
import { among, sql } from '../../../store/sql.ts'
import { all } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { listEvery } from '../all-pages.ts'
import type { Ask } from '../call-v2.ts'
import type { Renaming } from '../convert.ts'
import { converted, deleted, inNames } from '../convert.ts'
import { namesOfPlace, placeOf } from '../place.ts'
import { oldRepoOf, repoOf } from './conversion.ts'

const v2 = ReposService.method

const names: Renaming[] = [
  [/^parent$/, 'parent_id'],
  [/^uid$/, 'id'],
  [/^content$/, 'readme'],
]

/** `askWithReadme` writes repos together with what they say of themselves. */
export function reposOfV1({ store }: Dependencies, ask: Ask, askWithReadme: (readme: string) => Ask) {
  /** Of repos that the caller has been shown: whoever sees a repo may read it. */
  const readmesOf = (repos: Repo[]) =>
    store.read(function* () {
      const uids = repos.map(({ uid }) => uid)
      if (uids.length === 0) return new Map<string, string>()
      const rows = yield* all(sql`select uid, readme from repos where uid in ${among(uids)}`)
      return new Map(rows as [string, string][])
    })

  async function shown(repos: Repo[]): Promise<OldRepo[]> {
    const readmes = await readmesOf(repos)
    return repos.map((repo) => oldRepoOf(repo, readmes.get(repo.uid) ?? ''))
  }

  /** The repo of that name, if the caller sees one. */
  async function find(call: Call<CreateRepoRequest>, name: string): Promise<Repo | undefined> {
    const asked = { uidp: { childrenOf: call.request.parentId }, name, pageSize: 1 }
    return (await ask(call, v2.listRepos, asked)).message.repos[0]
  }

  /** Only what is given changes: whoever makes sure that a repo is there does not mean to empty it. */
  async function changeGiven(call: Call<CreateRepoRequest>, known: Repo, old: OldRepo): Promise<Reply> {
    const before = (await readmesOf([known])).get(known.uid) ?? ''
    const write = old.readme === '' ? ask : askWithReadme(old.readme)
    const asked = write(call, v2.updateRepo, { repo: { uid: known.uid, ...repoOf(old) } })
    return converted(asked, OldRepoSchema, (repo) => oldRepoOf(repo, old.readme || before))
  }

  return {
    async createRepo(call: Call<CreateRepoRequest>) {
      const { parentId, repo: old = create(OldRepoSchema), preventExisting } = call.request
      const asked = askWithReadme(old.readme)(call, v2.createRepo, { parent: parentId, repo: repoOf(old) })
      try {
        return await converted(inNames(names, asked), OldRepoSchema, (repo) => oldRepoOf(repo, old.readme))
      } catch (error) {
        if (preventExisting || !isConflict(error)) throw error
        const known = await find(call, old.name)
        if (!known) throw error
        return await inNames(names, changeGiven(call, known, old))
      }
    },

    updateRepo(call: Call<OldRepo>) {
      const { id, readme } = call.request
      const repo = { uid: id, ...repoOf(call.request) }
      const asked = askWithReadme(readme)(call, v2.updateRepo, { repo, updateMask: { paths: ['*'] } })
      return converted(inNames(names, asked), OldRepoSchema, (updated) => oldRepoOf(updated, readme))
    },

    listRepos(call: Call<RepoFilter>) {
      const { id, uidp, name } = call.request
      const listing = listEvery(ask, call, {
        method: v2.listRepos,
        request: { uidp: placeOf(uidp, { id }), name },
        list: RepoListSchema,
        items: ({ repos }) => shown(repos),
      })
      return inNames(namesOfPlace(id && 'id'), listing)
    },

    deleteRepo: (call: Call<DeleteRepoRequest>) =>
      deleted(inNames(names, ask(call, v2.deleteRepo, { uid: call.request.id }))),
  }
}

const isConflict = (error: unknown) => error instanceof StatusError && error.code === Code.ALREADY_EXISTS
