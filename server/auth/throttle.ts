// Keeps whoever fails too often waiting. Success costs nothing, so nobody honest notices.
import { isIPv6 } from 'node:net'
import { Code } from '../aip/code.ts'
import { StatusError, tooManyRequests } from '../aip/errors.ts'

/** By address, or by whatever else tells those who try apart. */
export type Throttle = {
  /** Refuses who has failed too often of late. */
  require(who: string): void
  fail(who: string): void
  /** Counts as failed until it succeeds: many tries at once are as many as one after the other. */
  attempt(who: string): void
  succeed(who: string): void
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

  function require(who: string): void {
    const failures = current(ownerOf(who))
    if (!failures || failures.count < most) return
    const wait = Math.ceil((failures.since + period - now()) / 1000)
    throw tooManyRequests('too many attempts have failed; try again later', wait)
  }

  function fail(address: string): void {
    const who = ownerOf(address)
    const failures = current(who) ?? { count: 0, since: now() }
    failures.count++
    if (!known.has(who) && known.size >= mostKnown) known.delete(known.keys().next().value as string) // not empty
    known.set(who, failures)
  }

  return {
    require,
    fail,
    attempt(who) {
      require(who)
      fail(who)
    },
    succeed(who) {
      const failures = current(ownerOf(who))
      if (failures) failures.count--
    },
  }
}

export type Attempt = [Throttle, string]

/** One that counts in several ways; answers what to call once it has succeeded. */
export function attemptAll(attempts: readonly Attempt[]): () => void {
  for (const [throttle, who] of attempts) throttle.attempt(who)
  return () => {
    for (const [throttle, who] of attempts) throttle.succeed(who)
  }
}

const refusals = new Set<Code>([Code.UNAUTHENTICATED, Code.PERMISSION_DENIED])

/** Something that is refused counts against where it came from. */
export async function guarded<T>(
  throttle: Throttle,
  address: string,
  attempt: () => Promise<T>,
  isRefusal = ({ code }: StatusError) => refusals.has(code),
): Promise<T> {
  throttle.require(address)
  try {
    return await attempt()
  } catch (error) {
    if (error instanceof StatusError && isRefusal(error)) throttle.fail(address)
    throw error
  }
}

/** Who has one address of IPv6 has all of its network; and one of IPv4 may be written as one of IPv6. */
export function ownerOf(address: string): string {
  const plain = address.replace(/^\[|\]$/g, '').replace(/^::ffff:/i, '')
  if (!isIPv6(plain)) return plain
  const [head = ''] = plain.split('::')
  const groups = head.split(':').filter(Boolean)
  return [...groups, '0', '0', '0', '0'].slice(0, 4).join(':')
}
