// Keeps whoever fails too often waiting. Success costs nothing, so nobody honest notices.
import { isIPv6 } from 'node:net'
import { tooManyRequests } from '../aip/errors.ts'

export type Throttle = {
  /** Refuses who has failed too often of late. */
  require(address: string): void
  fail(address: string): void
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
    require(address) {
      const failures = current(ownerOf(address))
      if (!failures || failures.count < most) return
      const wait = Math.ceil((failures.since + period - now()) / 1000)
      throw tooManyRequests('too many attempts have failed; try again later', wait)
    },
    fail(address) {
      const who = ownerOf(address)
      const failures = current(who) ?? { count: 0, since: now() }
      failures.count++
      if (!known.has(who) && known.size >= mostKnown) known.delete(known.keys().next().value as string) // not empty
      known.set(who, failures)
    },
  }
}

/** Who has one address of IPv6 has all of its network; and one of IPv4 may be written as one of IPv6. */
function ownerOf(address: string): string {
  const plain = address.replace(/^\[|\]$/g, '').replace(/^::ffff:/i, '')
  if (!isIPv6(plain)) return plain
  const [head = ''] = plain.split('::')
  const groups = head.split(':').filter(Boolean)
  return [...groups, '0', '0', '0', '0'].slice(0, 4).join(':')
}
