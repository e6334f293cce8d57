// Replaces the limits of a group, for callers of the API and for the operator.
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Group } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type { FieldViolation } from '../../../aip/errors.ts'
import { invalidArgument, notFound } from '../../../aip/errors.ts'
import { requireMatch } from '../../../aip/etag.ts'
import { lineage, parentOf } from '../../../aip/uid.ts'
import { entryPath } from '../../../aip/validate.ts'
import type { DefaultLimits } from '../../../limits/quota/effective-limit.ts'
import { limitsOnPath } from '../../../limits/quota/effective-limit.ts'
import { readAllUsage, replaceQuotas } from '../../../store/quota.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../../stored-resource.ts'
import { groups } from './table.ts'

export type ReplaceLimitsOptions = {
  uid: string
  /** The new limits by kind, made from those that the group has. */
  change(current: ReadonlyMap<string, number>): ReadonlyMap<string, number>
  defaults: DefaultLimits
  now: number
  ifMatch?: string | undefined
  /** Whether an error may name this group and its limit. */
  mayNameInErrors(group: string): boolean
}

/** Returns the group with its new limits. */
export function* replaceLimits(access: WriteAccess, options: ReplaceLimitsOptions): Work<Group> {
  const { uid, now } = options
  const stored = yield* lockResource(groups, uid)
  if (!stored) throw notFound(groups.desc.typeName, uid)
  const { resource: group } = stored
  const current = new Map(Object.entries(group.resourceLimits))
  const limits = options.change(current)
  const changed = [...limits].filter(([kind, limit]) => current.get(kind) !== limit)
  yield* requireWithinLimitsAbove(changed, options)
  requireMatch(options.ifMatch, stored.updateTime)
  if (isSame(current, limits)) return group
  const updateTime = nextUpdateTime(now, stored.updateTime)
  group.updateTime = timestampFromMs(updateTime)
  group.resourceLimits = Object.fromEntries([...limits].sort())
  yield* replaceResource(access, groups, group, { uid, updateTime })
  yield* replaceQuotas(uid, limits)
  return group
}

/** Limits that stay the same are not checked: a limit above them may have been reduced. */
function* requireWithinLimitsAbove(
  changed: readonly (readonly [kind: string, limit: number])[],
  { uid, defaults, mayNameInErrors }: ReplaceLimitsOptions,
): Work<void> {
  const path = lineage(parentOf(uid))
  if (path.length === 0) return
  const usage = yield* readAllUsage(path)
  const violations = changed.flatMap(([kind, limit]): FieldViolation[] => {
    const nearest = limitsOnPath(kind, path, usage, defaults).at(-1)
    if (!nearest || limit <= nearest.limit) return []
    const description = mayNameInErrors(nearest.group)
      ? `must be at most ${nearest.limit}, the limit of group ${nearest.group}`
      : 'must not be higher than the limit of a group above'
    return [{ field: entryPath('resource_limits', kind), description }]
  })
  const [first, ...others] = violations
  if (first) throw invalidArgument(first, ...others)
}

const isSame = (current: ReadonlyMap<string, number>, limits: ReadonlyMap<string, number>): boolean =>
  current.size === limits.size && [...limits].every(([kind, limit]) => current.get(kind) === limit)
