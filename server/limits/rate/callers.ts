// Limits the calls of callers and of their organizations.
import { constant, tooManyRequests } from '../../aip/errors.ts'
import type { Meter } from './meter.ts'
import type { RateScope } from './rate-scope.ts'

export type CallersOptions = {
  callers: RateScope
  organizations: RateScope
  /** How many calls of one caller may run at a time; 0 for no limit. */
  maxRunning: number
}

export type Callers = {
  /** The meter of a caller. */
  of(identity: string): Meter
  /** Counts a call of the caller and its organization. Throws and counts nothing if one of them has made too many. */
  take(costClass: number, caller: Meter, now: number): void
  /** Like `take`; also throws if too many calls of the caller are running. */
  start(costClass: number, caller: Meter, now: number): void
}

export function openCallers({ callers, organizations, maxRunning }: CallersOptions): Callers {
  const tooManyRunning = constant(
    tooManyRequests(
      `at most ${maxRunning} of your calls may run at a time; wait until one of them ends, or ask for less in each`,
      runningRetrySeconds,
    ),
  )

  /** Returns the key of the meter, not an equal string, so look-ups compare no characters. */
  function rootOf(identity: string): string {
    const root = organizationOf(identity)
    return root === '' ? '' : organizations.meters.of(root).key
  }

  function take(costClass: number, caller: Meter, now: number): void {
    callers.require(caller, costClass, now)
    caller.organization = caller.root ? organizations.meters.of(caller.root) : undefined
    if (caller.organization) {
      organizations.require(caller.organization, costClass, now)
      organizations.take(caller.organization, costClass, now)
    }
    callers.take(caller, costClass, now)
  }

  return {
    of(identity) {
      const meter = callers.meters.of(identity)
      meter.root ??= rootOf(identity)
      return meter
    },
    take,
    start(costClass, caller, now) {
      if (maxRunning > 0 && caller.running >= maxRunning) throw tooManyRunning
      take(costClass, caller, now)
      caller.running++
    },
  }
}

const runningRetrySeconds = 1

/**
 * The organization that a workload belongs to; empty for a person. Only identities of an organization count for it, so
 * nobody else can use up its limit.
 */
function organizationOf(identity: string): string {
  const end = identity.indexOf('/')
  return end < 0 ? '' : identity.slice(0, end)
}
