// All organizations of the server and their limits, for its operators. `stemmad limits` sets limits with the same
// functions.
import { create } from '@bufbuild/protobuf'
import type { Group } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type {
  ListOrganizationsRequest,
  Organization,
  SetOrganizationLimitsRequest,
} from '@stemma/api/gen/platform/server/v2beta1/organization_pb.ts'
import {
  ListOrganizationsResponseSchema,
  OrganizationSchema,
  OrganizationsService,
} from '@stemma/api/gen/platform/server/v2beta1/organization_pb.ts'
import { notFound } from '../aip/errors.ts'
import { parentOf } from '../aip/uid.ts'
import { admitToRead, admitToWrite } from '../policy/admit.ts'
import { readLiveUsage } from '../resources/iam/expired-bindings.ts'
import { kindUsageOf, parseChange } from '../resources/iam/groups/limit-methods.ts'
import { replaceLimits } from '../resources/iam/groups/replace-limits.ts'
import { groups } from '../resources/iam/groups/table.ts'
import { messageOf } from '../resources/kind.ts'
import { nameContains } from '../resources/name-search.ts'
import { defineService } from '../resources/resource.ts'
import { readResource } from '../resources/stored-resource.ts'
import type { Call } from '../rpc/call.ts'
import type { Sql } from '../store/sql.ts'
import { join, raw, sql } from '../store/sql.ts'
import { StoreError } from '../store/store-error.ts'
import type { Work } from '../store/work.ts'
import { all } from '../store/work.ts'
import type { Reply } from '../wire/reply.ts'
import { messageReply } from '../wire/reply.ts'
import type { OperatorDependencies } from './dependencies.ts'
import { readPage } from './page.ts'

export const organizationsService = defineService({
  service: OrganizationsService,
  methods: (deps: OperatorDependencies) => {
    const { store, now } = deps
    const { kinds, defaults } = deps.settings.limits
    return {
      listOrganizations: (call: Call<ListOrganizationsRequest>) =>
        store.read(() => readOrganizations(deps, call)),

      getOrganization: ({ demand, request: { uid } }: Call<Call['request'] & { uid: string }>) =>
        store.read(function* () {
          yield* admitToRead(demand)
          return yield* readOrganization(deps, uid)
        }),

      setOrganizationLimits: ({ demand, request, ifMatch, deadline }: Call<SetOrganizationLimitsRequest>) =>
        store.write(function* () {
          const access = yield* admitToWrite(demand)
          const { uid } = request
          if (parentOf(uid) !== '') throw notFound(OrganizationSchema.typeName, uid)
          const change = parseChange(request, kinds)
          const mayNameInErrors = () => true
          yield* replaceLimits(access, { uid, change, defaults, now: now(), ifMatch, mayNameInErrors })
          return yield* readOrganization(deps, uid)
        }, deadline),
    }
  },
})

function* readOrganizations(deps: OperatorDependencies, call: Call<ListOrganizationsRequest>): Work<Reply> {
  yield* admitToRead(call.demand)
  const filters = nameContains(call.request.nameContains)
  const condition = join([raw('parent is null'), ...filters], ' and ')
  const total = yield* countGroups(raw('parent is null'))
  // A search reads the names of all organizations.
  if (filters.length > 0 && total > (deps.maxListRows ?? total)) throw new StoreError('expensive')
  const totalCount = BigInt(filters.length > 0 ? yield* countGroups(condition) : total)
  const { rows, nextPageToken, skipped } = yield* readPage(
    deps,
    call,
    ({ uid, name }: Group) => ({ uid, name }),
    function* ({ after, skip, limit }) {
      const follows = after ? sql`(name, uid) > (${after.name}, ${after.uid})` : raw('1 = 1')
      const found = yield* all(sql`select proto from groups where ${condition} and ${follows}
        order by name, uid limit ${limit} offset ${skip}`)
      return found.map(([proto]) => messageOf(groups, proto as Uint8Array))
    },
  )
  const organizations = yield* messagesOf(deps, rows)
  return messageReply(
    ListOrganizationsResponseSchema,
    create(ListOrganizationsResponseSchema, { organizations, nextPageToken, totalCount, skipped }),
  )
}

function* countGroups(condition: Sql): Work<number> {
  const [row] = yield sql`select count(*) from groups where ${condition}`
  return Number(row?.[0])
}

function* readOrganization(deps: OperatorDependencies, uid: string): Work<Reply> {
  const group = parentOf(uid) === '' ? yield* readResource(groups, uid) : undefined
  const [organization] = group ? yield* messagesOf(deps, [group]) : []
  if (!organization) throw notFound(OrganizationSchema.typeName, uid)
  return messageReply(OrganizationSchema, organization)
}

function* messagesOf(
  { settings, now }: OperatorDependencies,
  organizations: readonly Group[],
): Work<Organization[]> {
  const { kinds, defaults } = settings.limits
  if (organizations.length === 0) return []
  const usage = yield* readLiveUsage(
    organizations.map(({ uid }) => uid),
    now(),
  )
  const byGroup = Map.groupBy(usage, ({ group }) => group)
  return organizations.map(({ uid, name, description, verified, createTime }) =>
    create(OrganizationSchema, {
      ...{ uid, name, description, verified },
      ...(createTime && { createTime }),
      kinds: kinds.map((kind) => kindUsageOf(kind, uid, byGroup.get(uid) ?? [], defaults, () => true)),
    }),
  )
}
