// Limits failed attempts. Successful attempts are not counted, so honest clients do not notice.
import { Code } from '../aip/code.ts'
import { StatusError, tooManyRequests } from '../aip/errors.ts'
import { BoundedMap } from '../bounded-map.ts'
import { networkOf } from '../wire/client-network.ts'

/**
 * A key is an IP address or other text, such as the digest of an account's e-mail address. All IPv6 addresses of a /64
 * count as one key.
 */
export type Throttle = {
  /** Refuses a key with too many recent failures. */
  require(key: string): void
  /** Counts a failure. The returned function takes it back. */
  fail(key: string): () => void
  /** Calls `require` and `fail`, so that an attempt counts as a failure until its result is known. */
  attempt(key: string): () => void
}

type Failures = { count: number; since: number }

/**
 * A throttle with this many keys drops the oldest one when it adds another. To make it drop an account, a guesser must
 * fail with 10,000 other keys within the period. The limit of 50 failures for each address allows this only from 200
 * IPv4 addresses or IPv6 /64s.
 */
const maxKeys = 10_000

/** The period starts with the first failure of a key. */
export function openThrottle(maxFailures: number, periodMs: number, now: () => number): Throttle {
  const failuresByKey = new BoundedMap<string, Failures>(maxKeys)

  function recentFailures(key: string): Failures | undefined {
    const failures = failuresByKey.get(key)
    if (!failures || now() - failures.since < periodMs) return failures
    failuresByKey.delete(key)
    return undefined
  }

  function require(key: string): void {
    const failures = recentFailures(networkOf(key))
    if (!failures || failures.count < maxFailures) return
    const waitSeconds = Math.ceil((failures.since + periodMs - now()) / 1000)
    throw tooManyRequests('too many attempts have failed; try again later', waitSeconds)
  }

  function fail(key: string): () => void {
    const network = networkOf(key)
    const failures = recentFailures(network) ?? { count: 0, since: now() }
    if (failures.count === 0) failuresByKey.set(network, failures)
    failures.count++
    return () => void failures.count--
  }

  return {
    require,
    fail,
    attempt(key) {
      require(key)
      return fail(key)
    },
  }
}

export type Attempt = [Throttle, string]

/**
 * Counts an attempt in several throttles, or in none if one of them refuses it. Returns a function to call once the
 * attempt has succeeded.
 */
export function attemptAll(attempts: readonly Attempt[]): () => void {
  for (const [throttle, key] of attempts) throttle.require(key)
  const takeBacks = attempts.map(([throttle, key]) => throttle.fail(key))
  return () => {
    for (const takeBack of takeBacks) takeBack()
  }
}

const refusals = new Set<Code>([Code.UNAUTHENTICATED, Code.PERMISSION_DENIED])

/**
 * Runs an action, and counts it if it is refused. After too many refusals of a key, each further refusal is replaced by
 * the error that too many attempts have failed. An action that succeeds is never counted. `keyOf` is called only after
 * a refusal.
 */
export async function throttled<T>(
  throttle: Throttle,
  keyOf: () => string,
  action: () => Promise<T>,
  isRefusal = ({ code }: StatusError) => refusals.has(code),
): Promise<T> {
  try {
    return await action()
  } catch (error) {
    if (error instanceof StatusError && isRefusal(error)) throttle.attempt(keyOf())
    throw error
  }
}
