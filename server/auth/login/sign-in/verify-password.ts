import { findAccount, isEmail } from '../accounts.ts'
import { attemptPassword } from '../attempt-password.ts'
import { findClaim, possibleClaimHashes } from '../claimed-accounts.ts'
import type { AuthenticatedPerson } from '../people.ts'
import type { SignInDependencies } from './dependencies.ts'

type VerifyDependencies = Pick<SignInDependencies, 'store' | 'secret' | 'throttles' | 'usePasswords'>

export type VerifiedPerson = { person: AuthenticatedPerson; passwordHash: string }

/**
 * If the password is right, `person` and `passwordHash` are set. The `email` of the person is set
 * only if the operator vouches for it. `passwordHash` is the stored hash of the password.
 * If the password is wrong, `newAccountHash` is the hash to store if a new account is created with this
 * e-mail address. `account` is for the log: the identity of the account that `findAccount` returns.
 * Accounts that only claim the address (claimed-accounts.ts) are not logged.
 */
export type Verification =
  | VerifiedPerson
  | { person?: undefined; newAccountHash: string; account: string | undefined }

/**
 * Finds the account with this e-mail address and password. Wrong passwords are throttled. `email` is canonical;
 * `address` is the IP address of the client.
 */
export function verifyPassword(
  deps: VerifyDependencies,
  email: string,
  password: string,
  address: string,
): Promise<Verification> {
  const { store, secret } = deps
  return attemptPassword(deps, email, address, async (passwords, succeed) => {
    const account = await store.read(() => findAccount(email))
    if ((await passwords.verify(password, account?.password)) && account) {
      succeed()
      const person = { identity: account.identity, email: account.isVouched ? email : undefined }
      return { person, passwordHash: account.password }
    }
    // The same number of hashes is computed for every wrong password, so that the time does not reveal whether an
    // account exists.
    const hashes = await possibleClaimHashes({ passwords, secret }, email, password)
    // Text that is not an address may contain characters that PostgreSQL refuses, such as NUL.
    const claim = isEmail(email) ? await store.read(() => findClaim(email, hashes)) : undefined
    if (!claim) return { newAccountHash: hashes[0], account: account?.identity }
    succeed()
    const { identity, passwordHash } = claim
    return { person: { identity, email: undefined }, passwordHash }
  })
}
