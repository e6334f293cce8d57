// The rate limits of one scope: of each caller, of each organization, or of each network.

import type { UnsharedCalls } from '../sharing/unshared-calls.ts'
import { openUnsharedCalls } from '../sharing/unshared-calls.ts'
import { costClasses } from './cost-class.ts'
import type { Meter, Meters } from './meter.ts'
import { openMeters } from './meter.ts'
import type { Rate } from './rate.ts'
import {
  admitsCall,
  after,
  callsLeft,
  rateOf,
  secondsUntilCall,
  secondsUntilFull,
  usedShare,
} from './rate.ts'
import type { Policy, ScopeName } from './rate-refusal.ts'
import { rateFields, rateRefusal } from './rate-refusal.ts'

/** Cost classes are passed as an index in `costClasses`. Times are in milliseconds of the clock. */
export type RateScope = {
  meters: Meters
  /** Throws if the meter does not admit a call. */
  require(meter: Meter, costClass: number, now: number): void
  take(meter: Meter, costClass: number, now: number): void
  /** Undoes `take`. */
  giveBack(meter: Meter, costClass: number): void
  /** How much of the bucket is used (see `usedShare` in rate.ts); 0 without a limit. */
  usedShare(meter: Meter | undefined, costClass: number, now: number): number
  /** The header fields that say how many calls are left; none if the class has no limit. */
  fieldsOf(meter: Meter, costClass: number, now: number): Record<string, string>
  /** The calls that other copies of the server should learn of. */
  takeUnshared(): ReturnType<UnsharedCalls['take']>
  /** Counts calls that another copy has admitted. */
  addForeign(costClass: number, key: string, calls: number): void
  setCopies(count: number): void
}

export type RateScopeOptions = {
  name: ScopeName
  /** For each cost class, the calls per second; 0 for no limit. */
  perSecond: readonly number[]
  maxMeters: number
  clock(): number
}

export function openRateScope({ name, perSecond, maxMeters, clock }: RateScopeOptions): RateScope {
  const rates: readonly (Rate | undefined)[] = perSecond.map(rateOf)
  const policies = costClasses.map((costClass, at): Policy | undefined => {
    const rate = rates[at]
    return rate && { costClass, scope: name, rate }
  })

  const unshared = openUnsharedCalls(rates, maxMeters)

  function mostUsedShare({ fullAt }: Meter): number {
    const now = clock()
    let most = 0
    for (const [at, rate] of rates.entries())
      if (rate) most = Math.max(most, usedShare(fullAt[at] ?? 0, rate, now))
    return most
  }

  function refuse(meter: Meter, policy: Policy, costClass: number, now: number): never {
    const seconds = secondsUntilCall(meter.fullAt[costClass] ?? 0, policy.rate, now)
    let refusal = meter.refusals[costClass]
    if (refusal?.seconds !== seconds) {
      refusal = { seconds, error: rateRefusal(policy, meter.key, seconds) }
      meter.refusals[costClass] = refusal
    }
    throw refusal.error
  }

  const meters = openMeters(maxMeters, mostUsedShare)
  return {
    meters,
    require(meter, costClass, now) {
      const policy = policies[costClass]
      if (!policy) return
      const mayTake =
        admitsCall(meter.fullAt[costClass] ?? 0, policy.rate, now) &&
        unshared.admitsCall(meter, costClass, policy.rate, now)
      if (!mayTake) refuse(meter, policy, costClass, now)
    },
    take(meter, costClass, now) {
      const rate = rates[costClass]
      if (!rate) return
      meter.fullAt[costClass] = after(meter.fullAt[costClass] ?? 0, 1, rate, now)
      unshared.add(meter, costClass)
    },
    giveBack(meter, costClass) {
      const rate = rates[costClass]
      if (!rate) return
      meter.fullAt[costClass] = (meter.fullAt[costClass] ?? 0) - rate.costMs
      unshared.remove(meter, costClass)
    },
    usedShare(meter, costClass, now) {
      const rate = rates[costClass]
      return meter && rate ? usedShare(meter.fullAt[costClass] ?? 0, rate, now) : 0
    },
    fieldsOf(meter, costClass, now) {
      const policy = policies[costClass]
      if (!policy) return {}
      const fullAt = meter.fullAt[costClass] ?? 0
      const left = callsLeft(fullAt, policy.rate, now)
      const seconds = left > 0 ? secondsUntilFull(fullAt, now) : secondsUntilCall(fullAt, policy.rate, now)
      return rateFields(policy, left, seconds)
    },
    takeUnshared: () => unshared.take(clock()),
    addForeign(costClass, key, calls) {
      const rate = rates[costClass]
      if (!rate) return
      const meter = meters.of(key)
      meter.fullAt[costClass] = after(meter.fullAt[costClass] ?? 0, calls, rate, clock())
    },
    setCopies: unshared.setCopies,
  }
}
