// The calls that other copies of the server do not know yet.
import type { Meter } from '../rate/meter.ts'
import type { Rate } from '../rate/rate.ts'

/** Cost classes are passed as their index. */
export type UnsharedCalls = {
  /** Whether this copy may admit another call before it sends its unshared calls to the others. */
  admitsCall(meter: Meter, costClass: number, rate: Rate, now: number): boolean
  add(meter: Meter, costClass: number): void
  /** Undoes `add`, but leaves one call, because a meter in `pending` must have unshared calls. */
  remove(meter: Meter, costClass: number): void
  take(now: number): [costClass: number, key: string, calls: number][]
  setCopies(count: number): void
}

/**
 * All copies together may exceed the limit by this fraction of a burst. Calls that are held back
 * (see `minShared`) can add the calls of one second, a tenth of a burst, so the total excess is at
 * most one burst.
 */
const overshoot = 0.9

/**
 * The calls of a key are not sent before there are this many. So all copies together hold back less than the calls of
 * one second for each key, and most keys are never sent.
 */
const minShared = (perSecond: number, copies: number) => Math.max(1, perSecond / copies)

/** How many keys of a scope are sent at a time. Further keys are sent the next time. */
const maxSharedKeys = 1000

export function openUnsharedCalls(rates: readonly (Rate | undefined)[], maxMeters: number): UnsharedCalls {
  let copies = 1
  /** The meters with unshared calls, once for each class. */
  let pending: [meter: Meter, costClass: number][] = []

  /** Whether the bucket is full again. Its unshared calls then make no difference to another copy. */
  const isFullAgain = ({ fullAt }: Meter, costClass: number, now: number) => (fullAt[costClass] ?? 0) <= now

  return {
    // `overBudget` is the number of calls admitted beyond the limit, if every other copy has admitted as many unshared
    // calls as this one.
    admitsCall(meter, costClass, { burst, burstMs, costMs }, now) {
      if (copies === 1) return true
      const left = (burstMs - Math.max(0, (meter.fullAt[costClass] ?? 0) - now)) / costMs
      const overBudget = (copies - 1) * (meter.unshared[costClass] ?? 0) - left
      return overBudget < overshoot * burst
    },
    add(meter, costClass) {
      if (copies === 1) return
      const before = meter.unshared[costClass] ?? 0
      if (before === 0) {
        if (pending.length >= maxMeters) return
        pending.push([meter, costClass])
      }
      meter.unshared[costClass] = before + 1
    },
    remove(meter, costClass) {
      const before = meter.unshared[costClass] ?? 0
      if (before > 1) meter.unshared[costClass] = before - 1
    },
    take(now) {
      const taken: [number, string, number][] = []
      const kept: typeof pending = []
      for (const [meter, costClass] of pending) {
        const calls = meter.unshared[costClass] ?? 0
        const isEnough = calls >= minShared(rates[costClass]?.perSecond ?? 0, copies)
        if (isEnough && taken.length < maxSharedKeys) taken.push([costClass, meter.key, calls])
        else if (isEnough || !isFullAgain(meter, costClass, now)) {
          kept.push([meter, costClass])
          continue
        }
        meter.unshared[costClass] = 0
      }
      pending = kept
      return taken
    },
    setCopies(count) {
      copies = count
    },
  }
}
