// Keeps whoever fails too often waiting. Success costs nothing, so nobody honest notices.
import { tooManyRequests } from '../aip/errors.ts'

export type Throttle = {
  /** Refuses who has failed too often of late. */
  require(who: string): void
  fail(who: string): void
}

type Failures = { count: number; since: number }

const mostKnown = 10_000

export function openThrottle(most: number, period: number, now: () => number): Throttle {
  const known = new Map<string, Failures>()

  function current(who: string): Failures | undefined {
    const failures = known.get(who)
    if (!failures || now() - failures.since < period) return failures
    known.delete(who)
    return undefined
  }

  return {
    require(who) {
      const failures = current(who)
      if (!failures || failures.count < most) return
      const wait = Math.ceil((failures.since + period - now()) / 1000)
      throw tooManyRequests('too many attempts have failed; try again later', wait)
    },
    fail(who) {
      const failures = current(who) ?? { count: 0, since: now() }
      failures.count++
      if (!known.has(who) && known.size >= mostKnown) known.delete(known.keys().next().value as string) // not empty
      known.set(who, failures)
    },
  }
}
