// Methods that set the limits on the number of resources in a group, and show the usage of a group.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type {
  GetGroupUsageRequest,
  KindUsageSchema,
  SetGroupLimitsRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { GroupUsageSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import {
  invalidArgument,
  invalidField,
  notFound,
  operatorOnly,
  permissionDenied,
} from '../../../aip/errors.ts'
import { lineage, parentOf } from '../../../aip/uid.ts'
import { entryPath } from '../../../aip/validate.ts'
import { firstReached, limitsOnPath, usedIn } from '../../../limits/quota/effective-limit.ts'
import { kindNamed, parseLimits } from '../../../limits/quota/limit-names.ts'
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import type { Grants } from '../../../policy/grants.ts'
import { holds } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Usage } from '../../../store/quota.ts'
import { sql } from '../../../store/sql.ts'
import { first } from '../../../store/work.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies, GroupLimits } from '../../dependencies.ts'
import { readReply } from '../../reply.ts'
import { readLiveUsage } from '../expired-bindings.ts'
import type { ReplaceLimitsOptions } from './replace-limits.ts'
import { replaceLimits } from './replace-limits.ts'
import { groups } from './table.ts'

export function limitMethods({ store, now, settings }: Dependencies) {
  const { kinds, defaults } = settings.limits
  return {
    setGroupLimits: ({ demand, request, ifMatch, form, deadline }: Call<SetGroupLimitsRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(demand)
        const { uid } = request
        requireMayUpdateParent(access, uid)
        const change = parseChange(request, kinds)
        const mayNameInErrors = (group: string) => maySee(access, group)
        yield* replaceLimits(access, { uid, change, defaults, now: now(), ifMatch, mayNameInErrors })
        return yield* readReply(groups, uid, form, access)
      }, deadline),

    getGroupUsage: ({ demand, request: { uid } }: Call<GetGroupUsageRequest>) =>
      store.read(function* () {
        const grants = yield* admitToRead(demand)
        const group = yield* first(sql`select uid from groups where uid = ${uid}`)
        if (!group) throw notFound(groups.desc.typeName, uid)
        const usage = yield* readLiveUsage(lineage(uid), grants.time)
        const isVisible = (limitGroup: string) => maySee(grants, limitGroup)
        const usageByKind = kinds.map((kind) => kindUsageOf(kind, uid, usage, defaults, isVisible))
        return messageReply(GroupUsageSchema, create(GroupUsageSchema, { kinds: usageByKind }))
      }),
  }
}

/** The limits of a group are set by those who may change the group above it, so nobody can lift their own limits. */
function requireMayUpdateParent(grants: Grants, uid: string): void {
  const above = parentOf(uid)
  if (above === '') throw operatorOnly('resource_limits', uid)
  const { CAP_IAM_GROUPS_UPDATE } = Capability
  if (!holds(grants, [CAP_IAM_GROUPS_UPDATE], above))
    throw permissionDenied(nameOf(CAP_IAM_GROUPS_UPDATE), above)
}

export function parseChange(
  { resourceLimits, remove }: Pick<SetGroupLimitsRequest, 'resourceLimits' | 'remove'>,
  kinds: readonly string[],
): ReplaceLimitsOptions['change'] {
  const { limits, faults } = parseLimits(Object.entries(resourceLimits), kinds)
  const removed = remove.map((name) => kindNamed(name, kinds))
  const [violation, ...others] = [
    ...faults.map(({ name, fault }) => ({ field: entryPath('resource_limits', name), description: fault })),
    ...removed.flatMap((kind, index) => {
      const fault =
        kind === undefined ? `must be one of ${kinds.join(', ')}` : 'must not be in resource_limits as well'
      const isWrong = kind === undefined || limits.has(kind)
      return isWrong ? [{ field: `remove[${index}]`, description: fault, mentions: ['resource_limits'] }] : []
    }),
  ]
  if (violation) throw invalidArgument(violation, ...others)
  // An empty request is probably a mistake. It must not remove anything.
  if (limits.size + removed.length === 0)
    throw invalidField('resource_limits', 'is required unless the field remove is set')
  return (current) => new Map([...[...current].filter(([kind]) => !removed.includes(kind)), ...limits])
}

const maySee = (grants: Grants, group: string) => holds(grants, [Capability.CAP_IAM_GROUPS_LIST], group)

/** Limits of groups that are not visible are left out. */
export function kindUsageOf(
  kind: string,
  uid: string,
  usage: readonly Usage[],
  defaults: GroupLimits['defaults'],
  isVisible: (group: string) => boolean,
): MessageInitShape<typeof KindUsageSchema> {
  const used = BigInt(usedIn(kind, uid, usage))
  const limits = limitsOnPath(kind, lineage(uid), usage, defaults)
  const limit = firstReached(limits.filter(({ group }) => isVisible(group)))
  if (!limit) return { kind, used }
  return {
    ...{ kind, used, limit: limit.limit, limitGroupUid: limit.group, defaultLimit: limit.isDefault },
    available: BigInt(Math.max(0, limit.limit - limit.used)),
    limitUsed: BigInt(limit.used),
  }
}
