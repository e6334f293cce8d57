import { digestOf } from '../../../crypto/digest.ts'
import { attemptAll } from '../../throttle.ts'
import { findAccount, isEmail } from '../accounts.ts'
import { findClaim, possibleClaimHashes } from '../claimed-accounts.ts'
import type { Guest } from '../people.ts'
import { attemptsOf } from '../sign-in-throttles.ts'
import type { SignInDependencies } from './dependencies.ts'

/**
 * `person` is set if the password is right; its `email` is set only if the operator vouches for the address.
 * `claimHash` is set if the password is wrong: it is the hash to store if a new account is created with this address.
 */
export type Verification = { person: Guest } | { person?: undefined; claimHash: string }

/** Finds the account with this address and password. A wrong password is throttled. `email` is canonical. */
export async function verifyPassword(
  deps: SignInDependencies,
  email: string,
  password: string,
  address: string,
): Promise<Verification> {
  const { store, passwords, throttles } = deps
  const succeed = attemptAll(attemptsOf(throttles, digestOf(email), address))
  const account = await store.read(() => findAccount(email))
  if ((await passwords.verify(password, account?.password)) && account) {
    succeed()
    return { person: { identity: account.identity, email: account.isVouched ? email : undefined } }
  }
  // The same number of hashes is computed for every wrong password, so that the time does not reveal whether an account
  // exists.
  const hashes = await possibleClaimHashes(deps, email, password)
  // Text that is not an address may contain characters that PostgreSQL refuses, such as NUL.
  const identity = isEmail(email) ? await store.read(() => findClaim(email, hashes)) : undefined
  if (identity === undefined) return { claimHash: hashes[0] }
  succeed()
  return { person: { identity, email: undefined } }
}
