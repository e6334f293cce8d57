// The calls that other copies of the server do not know yet.
import type { Meter } from '../rate/meter.ts'
import type { Rate } from '../rate/rate.ts'

/** Cost classes are passed as their index. */
export type UnsharedCalls = {
  /** Whether this copy may admit another call before the others have learned of the last ones. */
  hasRoom(meter: Meter, costClass: number, rate: Rate, now: number): boolean
  add(meter: Meter, costClass: number): void
  /** Undoes `add`. */
  remove(meter: Meter, costClass: number): void
  take(now: number): [costClass: number, key: string, calls: number][]
  setCopies(count: number): void
}

/**
 * By how much of a burst all copies together may admit too much. With the calls of a second that copies keep from each
 * other (see `minShared`), it is a whole burst.
 */
const overshoot = 0.9

/**
 * Fewer calls are kept for later. The calls that all copies keep from each other are then less than those of one second,
 * and most keys are never sent.
 */
const minShared = (perSecond: number, copies: number) => Math.max(1, perSecond / copies)

/** For each scope. Further keys are sent the next time. */
const maxSharedKeys = 1000

export function openUnsharedCalls(rates: readonly (Rate | undefined)[], maxMeters: number): UnsharedCalls {
  let copies = 1
  /** The meters with unshared calls, once for each class. */
  let pending: [meter: Meter, costClass: number][] = []

  /** Calls that have refilled since would make no difference to another copy. */
  const isOver = ({ fullAt }: Meter, costClass: number, now: number) => (fullAt[costClass] ?? 0) <= now

  return {
    // If every other copy has admitted as many calls as this one, `overBudget` calls were not in the bucket.
    hasRoom(meter, costClass, { burst, burstMs, costMs }, now) {
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
        else if (isEnough || !isOver(meter, costClass, now)) {
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
