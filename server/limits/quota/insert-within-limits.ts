// Refuses to create a resource if a group above it has reached its limit (docs/specification.md, Limits of groups).
import { quotaExceeded } from '../../aip/errors.ts'
import { listsQuota, lockUsage, readUsage } from '../../store/quota.ts'
import type { Entry, Table } from '../../store/table.ts'
import { insertEntries } from '../../store/table.ts'
import type { Quota } from '../../store/tally.ts'
import { adjustAmount } from '../../store/tally.ts'
import { together } from '../../store/together.ts'
import type { Work } from '../../store/work.ts'
import { all } from '../../store/work.ts'
import type { QuotaAccess, WriteAccess } from '../../store/write-access.ts'
import type { EffectiveLimit } from './effective-limit.ts'
import { limitsOnPath } from './effective-limit.ts'

/** Inserts rows with the same parent. `ancestors` are the uids from the organization down to the parent. */
export function* insertWithinLimits(
  access: WriteAccess,
  table: Table,
  entries: readonly Entry[],
  ancestors: readonly string[],
): Work<void> {
  const { quotas } = access
  const need = { kind: table.name, ancestors, count: entries.length, isCounted: false }
  const checked = quotas ? yield* requireRoom(quotas, need) : noLimits
  const found = yield* insertEntries(access, table, entries, ancestors)
  // If a limit was set after the check, check again.
  if (quotas && !found.every((quota) => isAmong(checked, quota)))
    yield* requireRoom(quotas, { ...need, isCounted: true })
}

/**
 * Adds `by` to the tally of something that is not a resource, such as bytes. Throws if a limit
 * would be exceeded. `by` may be negative, which is never refused.
 */
export function* countWithinLimits(
  access: WriteAccess,
  kind: string,
  ancestors: readonly string[],
  by: number,
): Work<void> {
  if (by === 0) return
  const quotas = by > 0 ? access.quotas : undefined
  const need = { kind, ancestors, count: by, isCounted: false }
  const checked = quotas ? yield* requireRoom(quotas, need) : noLimits
  const found = yield* adjustAmount(kind, ancestors, by)
  if (quotas && !found.every((quota) => isAmong(checked, quota)))
    yield* requireRoom(quotas, { ...need, isCounted: true })
}

/**
 * Throws if there is no room for `count` more. Returns how much room there is, undefined if there
 * is no limit. The result holds until the transaction ends.
 */
export function* requireRoomFor(
  { quotas }: WriteAccess,
  kind: string,
  ancestors: readonly string[],
  count: number,
): Work<number | undefined> {
  const limits = quotas ? yield* requireRoom(quotas, { kind, ancestors, count, isCounted: false }) : noLimits
  return limits.length === 0 ? undefined : Math.min(...limits.map(({ room }) => room))
}

const noLimits: readonly EffectiveLimit[] = []

const isAmong = (limits: readonly EffectiveLimit[], { group, quota }: Quota): boolean =>
  limits.some((other) => other.group === group && other.limit === quota)

/**
 * Whether one more resource may be created. The answer holds until the transaction ends, because other transactions
 * that create such resources wait for the lock.
 */
export function* hasRoom({ quotas }: WriteAccess, kind: string, ancestors: readonly string[]): Work<boolean> {
  const need = { kind, ancestors, count: 1, isCounted: false }
  if (!quotas) return true
  return reachedBy(need, yield* readLimits(quotas, need)) === undefined
}

/** Room for `count` resources of a kind, or bytes. `isCounted` if the tally contains them already. */
type Need = { kind: string; ancestors: readonly string[]; count: number; isCounted: boolean }

/**
 * Whether limits apply, as far as `QuotaAccess` shows; undefined if the store must be asked. For most
 * creates the result is false, so they need no further SQL statement.
 */
function isLimited(
  { defaults, quotasInOrganization }: QuotaAccess,
  { kind, ancestors }: Need,
): boolean | undefined {
  const [organization] = ancestors
  if (organization === undefined) return false
  if (defaults.has(kind)) return true
  return quotasInOrganization?.organization === organization
    ? listsQuota(quotasInOrganization.text, kind, ancestors)
    : undefined
}

/** Throws if a limit would be exceeded. Returns all limits that apply. */
function* requireRoom(quotas: QuotaAccess, need: Need): Work<readonly EffectiveLimit[]> {
  const limits = yield* readLimits(quotas, need)
  const reached = reachedBy(need, limits)
  if (!reached) return limits
  throw quotaExceeded(need.kind, quotas.mayNameInErrors(reached.group) ? reached : undefined)
}

/** The lock makes the counts exact. It is not taken where nothing is limited, so that creates there never wait. */
function* readLimits(quotas: QuotaAccess, need: Need): Work<EffectiveLimit[]> {
  const isLimitedHere = isLimited(quotas, need)
  if (isLimitedHere === false && !need.isCounted) return []
  if (isLimitedHere === undefined && (yield* limitsOf(quotas, need)).length === 0) return []
  const locked = all(lockUsage(need.kind, need.ancestors[0] ?? ''))
  const [, limits] = yield* together(locked, limitsOf(quotas, need))
  return limits
}

function* limitsOf(
  { defaults }: QuotaAccess,
  { kind, ancestors, count, isCounted }: Need,
): Work<EffectiveLimit[]> {
  return limitsOnPath(kind, ancestors, yield* readUsage(kind, ancestors), defaults, isCounted ? count : 0)
}

/** The nearest limit that would be exceeded. */
const reachedBy = ({ count }: Need, limits: readonly EffectiveLimit[]): EffectiveLimit | undefined =>
  limits.findLast(({ room }) => room < count)
