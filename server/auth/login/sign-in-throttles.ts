// Limits of wrong passwords and device codes.
import { networksOf } from '../../wire/client-network.ts'
import type { Attempt, Throttle } from '../throttle.ts'
import { openThrottle } from '../throttle.ts'

export type SignInThrottles = {
  perAddress: Throttle
  perAccount: Throttle
  /** One account from one network. The same order as `networksOf`. */
  perAccountAndNetwork: readonly [wide: Throttle, middle: Throttle, narrow: Throttle]
}

/**
 * How many attempts may fail within the period. Then further ones are refused. The limits that depend on the network
 * are lower than the limit of an account, so that a guesser is locked out before the owner of the account is, also if
 * the guesser has many addresses of one provider.
 */
const maxFailures = {
  perAddress: 50,
  perAccount: 100,
  perAccountAndNetwork: { wide: 60, middle: 30, narrow: 10 },
}
const failurePeriodMs = 5 * 60_000

export function openSignInThrottles(now: () => number): SignInThrottles {
  const open = (limit: number) => openThrottle(limit, failurePeriodMs, now)
  const { wide, middle, narrow } = maxFailures.perAccountAndNetwork
  return {
    perAddress: open(maxFailures.perAddress),
    perAccount: open(maxFailures.perAccount),
    perAccountAndNetwork: [open(wide), open(middle), open(narrow)],
  }
}

/** Everything that an attempt counts for. `account` is undefined if nobody is signed in. */
export function attemptsOf(
  throttles: SignInThrottles,
  account: string | undefined,
  address: string,
): Attempt[] {
  const attempts: Attempt[] = [[throttles.perAddress, address]]
  if (account === undefined) return attempts
  const [wide, middle, narrow] = throttles.perAccountAndNetwork
  const [wideName, middleName, narrowName] = networksOf(address)
  return [
    ...attempts,
    [wide, `${account} ${wideName}`],
    [middle, `${account} ${middleName}`],
    [narrow, `${account} ${narrowName}`],
    [throttles.perAccount, account],
  ]
}
