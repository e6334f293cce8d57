// How clients are told about rate limits: the error of a refused call, and the header fields RateLimit-Policy and RateLimit
// (draft-ietf-httpapi-ratelimit-headers). gRPC sends the same fields as metadata.
import type { StatusError } from '../../aip/errors.ts'
import { constant, rateLimited } from '../../aip/errors.ts'
import type { CostClass } from './cost-class.ts'
import type { Rate } from './rate.ts'

export type ScopeName = 'caller' | 'organization' | 'address'

export type Policy = { costClass: CostClass; scope: ScopeName; rate: Rate }

/**
 * `remaining` is the number of calls that are left. `seconds` is the time until the quota is full
 * again or, if no call is left, until the next call is admitted.
 */
export function rateFields(policy: Policy, remaining: number, seconds: number): Record<string, string> {
  const { burst, perSecond } = policy.rate
  const name = `"${policy.costClass}-${policy.scope}"`
  return {
    'ratelimit-policy': `${name};q=${burst};w=${Math.ceil(burst / perSecond)}`,
    ratelimit: `${name};r=${remaining};t=${seconds}`,
  }
}

const ownerOf = { caller: 'this caller', organization: 'this organization', address: 'this address' }

/** The error is marked `constant`, so that refusing a client that keeps calling costs little. */
export function rateRefusal(policy: Policy, key: string, seconds: number): StatusError {
  const { costClass, scope, rate } = policy
  return constant(
    rateLimited({
      text: `too many ${costClass} calls of ${ownerOf[scope]}; try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`,
      subject: `${scope}:${key}`,
      description: `${costClass} calls are limited to ${rate.perSecond} a second, after a burst of ${rate.burst}`,
      seconds,
      headers: rateFields(policy, 0, seconds),
    }),
  )
}
