// The calls that copies of the server report to each other, so that they share rate limits. Other files transport them.
import type { CostClass } from '../rate/cost-class.ts'
import { costClasses } from '../rate/cost-class.ts'
import type { ScopeName } from '../rate/rate-refusal.ts'
import type { RateScope } from '../rate/rate-scope.ts'

/** Calls of one caller, organization or network. */
export type Usage = [scope: ScopeName, costClass: CostClass, key: string, calls: number]

/**
 * Each copy counts in its own buckets the calls that it admits, and those that other copies have
 * admitted as soon as it learns of them. So in the long run, all copies together admit what one
 * would. Between two exchanges, a copy admits at most a share of each bucket (unshared-calls.ts),
 * so that a burst on all copies at once is at most twice what it should be.
 */
export type SharedLimits = {
  /** The calls that the other copies should learn of. Each call is returned once. */
  takeUsage(): Usage[]
  /** Counts calls that other copies have admitted. */
  addUsage(usage: readonly Usage[]): void
  /** Sets how many copies there are, including this one. Each of them must call `takeUsage` at least once a second. */
  setCopies(count: number): void
}

/** Carries usage between copies or threads. */
export type Exchange = {
  /** Tells the others what this one has counted, and learns what they have. To be called once a second. */
  exchange(): Promise<void>
  /** To be called when this one stops. */
  leave(): Promise<void>
}

export function openSharedLimits(scopes: Readonly<Record<ScopeName, RateScope>>): SharedLimits {
  const all = Object.entries(scopes) as [ScopeName, RateScope][] // the keys are those of the type
  return {
    takeUsage: () =>
      all.flatMap(([name, scope]) =>
        scope
          .takeUnshared()
          .map(([costClass, key, calls]): Usage => [name, costClasses[costClass] ?? 'read', key, calls]),
      ),
    addUsage(usage) {
      for (const [name, costClass, key, calls] of usage)
        scopes[name].addForeign(costClasses.indexOf(costClass), key, calls)
    },
    setCopies(count) {
      for (const [, scope] of all) scope.setCopies(count)
    },
  }
}
