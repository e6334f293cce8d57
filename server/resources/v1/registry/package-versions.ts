// Versions of packages and the ends of life of tags, from data that the operator imports. v2 does not have them.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type {
  EolTag,
  EolTagFilter,
  PackageVersionMetadataRequest,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import {
  EolTagListSchema,
  EolTagSchema,
  PackageVersionMetadataSchema,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import type { Repo } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import type { Tag } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { noPackage, permissionDenied } from '../../../aip/errors.ts'
import { parentOf, rootOf } from '../../../aip/uid.ts'
import { admitToRead } from '../../../policy/admit.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import { grantedRegions } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all } from '../../../store/work.ts'
import { messageReply } from '../../../wire/reply.ts'
import { messageOf } from '../../kind.ts'
import { hasPackages, readPackages } from '../../registry/packages/table.ts'
import { repos } from '../../registry/repos/table.ts'
import { settingsByOrganization } from '../../registry/settings/table.ts'
import type { V1Dependencies } from '../dependencies.ts'
import { uidpFilter } from '../uidp-filter.ts'
import { graceOf, isEndOfLife, packageNamesOf, versionOfTag } from './end-of-life.ts'

const maxPageSize = 200n

export const packageVersionMethods = ({ store, callV2, now }: V1Dependencies) => ({
  getPackageVersionMetadata: ({ demand, request }: Call<PackageVersionMetadataRequest>) =>
    store.read(function* () {
      const grants = yield* admitToRead(demand)
      if (grantedRegions(grants, demand.capabilities).length === 0)
        throw permissionDenied(nameOf(demand.capabilities[0] ?? 0), '')
      const stored = (yield* readPackages([request.package])).get(request.package)
      if (!stored) throw noPackage(request.package)
      const { metadata, updateTime } = stored
      const time = now()
      return messageReply(
        PackageVersionMetadataSchema,
        create(PackageVersionMetadataSchema, {
          ...metadata,
          versions: metadata.versions.filter((version) => !isEndOfLife(version, time)),
          eolVersions: metadata.versions.filter((version) => isEndOfLife(version, time)),
          lastUpdatedTimestamp: new Date(updateTime).toISOString(),
        }),
      )
    }),

  async listEolTags(call: Call<EolTagFilter>) {
    const { uidp, name, pageToken, pageSize, excludeDates, excludeEpochs } = call.request
    const { message } = await callV2(call, TagsService.method.listTags, {
      ...{ uidp: uidpFilter(uidp, {}), name, pageToken },
      pageSize: Number(pageSize > maxPageSize ? maxPageSize : pageSize),
      // Tags of referrers have no version.
      ...{ includeReferrers: false, includeDates: !excludeDates, includeEpochs: !excludeEpochs },
    })
    const list = await store.read(function* () {
      const items = yield* eolTagsOf(message.tags, now())
      // Without any package every further page would be empty.
      const nextPageToken = (yield* hasPackages()) ? message.nextPageToken : ''
      return create(EolTagListSchema, { items, nextPageToken })
    })
    return messageReply(EolTagListSchema, list)
  },
})

/** The ends of life of the tags whose version is known. `tags` are tags that the caller may list. */
function* eolTagsOf(tags: readonly Tag[], time: number): Work<EolTag[]> {
  const reposByUid = yield* readRepos([...new Set(tags.map(({ uid }) => parentOf(uid)))])
  const packages = yield* readPackages([
    ...new Set([...reposByUid.values()].flatMap(({ name }) => packageNamesOf(name))),
  ])
  const settings = yield* settingsByOrganization([...new Set([...reposByUid.keys()].map(rootOf))])
  return tags.flatMap(({ uid, name }) => {
    const repo = reposByUid.get(parentOf(uid))
    const packageName = repo && packageNamesOf(repo.name).find((candidate) => packages.has(candidate))
    const metadata = packages.get(packageName ?? '')?.metadata
    const version = metadata && versionOfTag(name, metadata.versions)
    if (!repo || !packageName || !version) return []
    const isGraceEnabled = repo.syncConfig?.gracePeriod ?? settings.get(rootOf(uid))?.eolGracePeriod ?? false
    const { tagStatus, graceStatus, expiry } = graceOf(version, metadata, isGraceEnabled, time)
    return create(EolTagSchema, {
      ...{ id: uid, name, mainPackageName: packageName, mainPackageVersion: version, tagStatus, graceStatus },
      ...(expiry !== undefined && { gracePeriodExpiryDate: timestampFromMs(expiry) }),
    })
  })
}

function* readRepos(uids: readonly string[]): Work<Map<string, Repo>> {
  if (uids.length === 0) return new Map()
  const rows = yield* all(sql`select uid, proto from repos where uid in ${among(uids)}`)
  return new Map(rows.map(([uid, proto]) => [uid as string, messageOf(repos, proto as Uint8Array)]))
}
