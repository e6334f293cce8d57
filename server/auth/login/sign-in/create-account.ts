import type { Work } from '../../../store/work.ts'
import { claimAddress } from '../claimed-accounts.ts'
import type { AuthenticatedPerson } from '../people.ts'
import type { SignInDependencies } from './dependencies.ts'

export type NewAccount = { email: string; passwordHash: string }

/**
 * The address of a new account is not verified, so the account cannot accept an invite that is limited to an address.
 */
export function* createAccount(
  deps: SignInDependencies,
  { email, passwordHash }: NewAccount,
): Work<AuthenticatedPerson> {
  const identity = yield* claimAddress(deps, { issuer: deps.authUrl, email, passwordHash })
  return { identity, email: undefined }
}
