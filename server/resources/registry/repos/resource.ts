// Repos of images. Each is in a group and contains tags.
import type {
  CreateRepoRequest,
  ListReposRequest,
  Repo,
  UpdateRepoRequest,
} from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import {
  CatalogTier,
  CatalogTierSchema,
  ReposService,
} from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { lineage } from '../../../aip/uid.ts'
import type { Call } from '../../../rpc/call.ts'
import { raw } from '../../../store/sql.ts'
import { deleteChildren } from '../../../store/table.ts'
import { createResource } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources } from '../../list.ts'
import { defineResource } from '../../resource.ts'
import { updateResource } from '../../update.ts'
import { tags } from '../tags/table.ts'
import { readmeMethods, requireSafeReadme } from './readme-methods.ts'
import { repos } from './table.ts'

const conflict = ({ name }: Repo) => `the group has a repo named ${JSON.stringify(name)} already`

/** If `readme` is given, `createRepo` and `updateRepo` also store it. */
export function reposMethods(deps: Dependencies, readme?: string) {
  const { store } = deps

  return {
    getRepo: (call: Call) => getResource(store, repos, call),

    listRepos: (call: Call<ListReposRequest>) =>
      listResources(deps, repos, call, { filters: equalTo(raw('name'), call.request.name ?? '') }),

    async createRepo(call: Call<CreateRepoRequest>) {
      await requireSafeReadme(deps, call.demand, readme)
      return createResource(deps, repos, call, {
        beforeCreate(draft) {
          removeUnset(draft)
          return { readme: readme ?? '' }
        },
        conflict,
      })
    },

    async updateRepo(call: Call<UpdateRepoRequest>) {
      await requireSafeReadme(deps, call.demand, readme)
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

    ...readmeMethods(deps),
  }
}

export const reposResource = defineResource({
  kind: repos,
  service: ReposService,
  methods: reposMethods,
})

/** Deletes optional fields without a value, so that replies leave them out. Throws if the catalogue tier is unknown. */
function removeUnset(repo: Repo): void {
  if (repo.description === '') delete repo.description
  if (repo.catalogTier === undefined) return
  if (!CatalogTierSchema.value[repo.catalogTier])
    throw invalidField('catalog_tier', 'must be one of the catalogue tiers')
  if (repo.catalogTier === CatalogTier.UNSPECIFIED) delete repo.catalogTier
}
