// The limit that applies to a kind of resource in a group, out of the limits of the group and of the groups above it.
import type { Usage } from '../../store/quota.ts'

export type EffectiveLimit = { group: string; limit: number; used: number; isDefault: boolean }

/** Limits of organizations that have none of their own, by kind. */
export type DefaultLimits = ReadonlyMap<string, number>

/**
 * The limits on a kind, from the organization down to the group. `path` are the uids from the organization to the
 * group, `usage` is what the tally has for them.
 */
export function limitsOnPath(
  kind: string,
  path: readonly string[],
  usage: readonly Usage[],
  defaults: DefaultLimits,
): EffectiveLimit[] {
  return path.flatMap((group, depth) => {
    const { used = 0, quota } = usage.find((entry) => entry.kind === kind && entry.group === group) ?? {}
    const limit = quota ?? (depth === 0 ? defaults.get(kind) : undefined)
    return limit === undefined ? [] : [{ group, limit, used, isDefault: quota === undefined }]
  })
}

/** The limit with the least room left. If several have equally little, that of the lowest group in the tree. */
export const firstReached = (limits: readonly EffectiveLimit[]): EffectiveLimit | undefined =>
  limits.toSorted((a, b) => b.limit - b.used - (a.limit - a.used)).at(-1)
