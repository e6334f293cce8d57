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
import { publicSince } from '../../../store/public-names.ts'
import { raw } from '../../../store/sql.ts'
import { deleteChildren } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import { createResource } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources } from '../../list.ts'
import { nameSearch } from '../../name-search.ts'
import { defineResource } from '../../resource.ts'
import { updateResource } from '../../update.ts'
import { requireNoImmutableTags } from '../immutable-tags.ts'
import { releaseBatch } from '../release-content.ts'
import { tags } from '../tags/table.ts'
import { requireValidOverlay } from './custom-overlay.ts'
import { retentionMethods } from './preview-retention.ts'
import { readmeMethods, requireSafeReadme } from './readme-methods.ts'
import { isSameRetention, requireNameAccess, requireRuleAccess, retentionTimeOf } from './repo-rules.ts'
import { requireValidRetention } from './require-valid-retention.ts'
import type { SyncContext } from './sync-config.ts'
import { completeSyncConfig } from './sync-config.ts'
import type { V1RepoFields } from './table.ts'
import { repos } from './table.ts'

const conflict = ({ name }: Repo) => `the group has a repo named ${JSON.stringify(name)} already`

/** How many tags one transaction deletes, when their repo is deleted. */
const tagsPerBatch = 100

/** `createRepo` and `updateRepo` also store the given fields. In v2, these two calls cannot set them. */
export function reposMethods(deps: Dependencies, v1Fields: V1RepoFields = {}) {
  const { store } = deps
  const { readme } = v1Fields

  return {
    getRepo: (call: Call) => getResource(store, repos, call),

    listRepos: (call: Call<ListReposRequest>) =>
      listResources(deps, repos, call, {
        filters: [
          ...equalTo(raw('name'), call.request.name ?? ''),
          ...equalTo(raw('source'), call.request.syncSource),
        ],
        ...nameSearch(repos, call.request.nameContains),
      }),

    async createRepo(call: Call<CreateRepoRequest>) {
      await requireSafeReadme(deps, call.demand, readme)
      return createResource(deps, repos, call, {
        *beforeCreate(draft, { grants, uid, time }) {
          yield* completeRepo(draft, { uid, time, caller: grants.caller, fields: v1Fields })
          requireRuleAccess(grants, uid, draft)
          yield* requireNameAccess(grants, uid, draft.name)
          return {
            ...{ readme: readme ?? '', retention_time: retentionTimeOf(draft, time) },
            public_since: draft.public ? time : 0,
          }
        },
        conflict,
      })
    },

    async updateRepo(call: Call<UpdateRepoRequest>) {
      await requireSafeReadme(deps, call.demand, readme)
      return updateResource(deps, repos, call, {
        *beforeUpdate({ merged, current, grants, time }) {
          const { uid, syncConfig } = current
          const context = { uid, time, caller: grants.caller, fields: v1Fields }
          yield* completeRepo(merged, { ...context, current: syncConfig })
          requireRuleAccess(grants, uid, merged, current)
          if (merged.name !== current.name) yield* requireNameAccess(grants, uid, merged.name)
          return {
            ...(readme !== undefined && { readme }),
            ...publicSince(merged, current, time),
            ...(!isSameRetention(merged, current) && { retention_time: retentionTimeOf(merged, time) }),
          }
        },
        conflict,
      })
    },

    deleteRepo: (call: Call) =>
      deleteResource(deps, repos, call, {
        *removeBatch(uid, access, isFirst) {
          // Tags that are pushed later do not stop the deletion.
          if (isFirst) yield* requireNoImmutableTags(uid)
          const deleted = yield* deleteChildren(access, tags.table, uid, {
            ...{ ancestors: lineage(uid), limit: tagsPerBatch },
          })
          return deleted === tagsPerBatch || (yield* releaseBatch(access, uid, deps.now()))
        },
      }),

    ...readmeMethods(deps),
    ...retentionMethods(deps),
  }
}

export const reposResource = defineResource({
  kind: repos,
  service: ReposService,
  methods: (deps) => reposMethods(deps),
})

/** Checks what the contract cannot express, and sets the fields that only the service or v1 sets. */
function* completeRepo(repo: Repo, context: SyncContext): Work<void> {
  removeUnset(repo)
  if (repo.customOverlay) requireValidOverlay(repo.customOverlay)
  if (repo.retention) requireValidRetention(repo.retention)
  if (repo.syncConfig) yield* completeSyncConfig(repo.syncConfig, context)
}

/** Deletes optional fields without a value, so that replies leave them out. Throws if the catalogue tier is unknown. */
function removeUnset(repo: Repo): void {
  if (repo.description === '') delete repo.description
  if (!repo.public) delete repo.public
  if (repo.retention && !repo.retention.deleteUntaggedAfter && repo.retention.rules.length === 0)
    delete repo.retention
  if (repo.catalogTier === undefined) return
  if (!CatalogTierSchema.value[repo.catalogTier])
    throw invalidField('catalog_tier', 'must be one of the catalogue tiers')
  if (repo.catalogTier === CatalogTier.UNSPECIFIED) delete repo.catalogTier
}
