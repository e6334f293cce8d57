// The limit that applies to a kind of resource in a group, out of the limits of the group and of the groups above it.
import type { Usage } from '../../store/quota.ts'
import { unitOf } from './content-limit.ts'

/** `used` is rounded up to the unit of the limit. `room` is how much more the tally may count; it can be negative. */
export type EffectiveLimit = { group: string; limit: number; used: number; room: number; isDefault: boolean }

/** How much of a kind is in and below the group, rounded up to the unit of its limit. */
export function usedIn(kind: string, group: string, usage: readonly Usage[]): number {
  const { used = 0 } = usage.find((entry) => entry.kind === kind && entry.group === group) ?? {}
  return Math.ceil(used / unitOf(kind))
}

/** Limits by kind, for organizations that have no limit of their own on the kind. */
export type DefaultLimits = ReadonlyMap<string, number>

/**
 * The limits on a kind, from the organization down to the group. `path` are the uids from the organization to the
 * group, `usage` is what the tally has for them. If the tally already contains the amount to be
 * checked, `counted` is this amount, and is subtracted.
 */
export function limitsOnPath(
  kind: string,
  path: readonly string[],
  usage: readonly Usage[],
  defaults: DefaultLimits,
  counted = 0,
): EffectiveLimit[] {
  const unit = unitOf(kind)
  return path.flatMap((group, depth) => {
    const { used = 0, quota } = usage.find((entry) => entry.kind === kind && entry.group === group) ?? {}
    const limit = quota ?? (depth === 0 ? defaults.get(kind) : undefined)
    if (limit === undefined) return []
    const others = used - counted
    const room = limit * unit - others
    return [{ group, limit, used: Math.ceil(others / unit), room, isDefault: quota === undefined }]
  })
}

/** The limit with the least room left. If several have equally little, that of the lowest group in the tree. */
export const firstReached = (limits: readonly EffectiveLimit[]): EffectiveLimit | undefined =>
  limits.toSorted((a, b) => b.room - a.room).at(-1)
