// Limits on wrong passwords, device codes, passkeys and codes of second factors.
import { networksOf } from '../../wire/client-network.ts'
import type { Attempt, Throttle } from '../throttle.ts'
import { openThrottle } from '../throttle.ts'

export type SignInThrottles = {
  /** Wrong codes of second factors, for one identity. */
  codes: Throttle
  perAddress: Throttle
  perAccount: Throttle
  /** Failures for one account from one network, in the order of `networksOf`. */
  perAccountAndNetwork: readonly [wide: Throttle, middle: Throttle, narrow: Throttle]
}

/**
 * How many attempts may fail within the period before further attempts are refused. The limits for one account from one
 * network are lower than the limit of the account: a guesser, even with many addresses of one provider, is locked out
 * before the owner of the account is.
 */
const maxFailures = {
  perAddress: 50,
  perAccount: 100,
  perAccountAndNetwork: { wide: 60, middle: 30, narrow: 10 },
}
const failurePeriodMs = 5 * 60_000
/**
 * A code has six digits, and three codes are right at a time. Somebody who knows the password and
 * never stops guessing needs four years on average. Passkeys are not limited by this.
 */
const maxWrongCodes = 10
const wrongCodePeriodMs = 60 * 60_000

export function openSignInThrottles(now: () => number): SignInThrottles {
  const open = (limit: number) => openThrottle(limit, failurePeriodMs, now)
  const { wide, middle, narrow } = maxFailures.perAccountAndNetwork
  return {
    codes: openThrottle(maxWrongCodes, wrongCodePeriodMs, now),
    perAddress: open(maxFailures.perAddress),
    perAccount: open(maxFailures.perAccount),
    perAccountAndNetwork: [open(wide), open(middle), open(narrow)],
  }
}

/**
 * The throttles that an attempt counts in, each with its key. `account` is undefined for a passkey,
 * and for a device code that is entered while nobody is signed in.
 */
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
