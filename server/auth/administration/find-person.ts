// Finds the person whom an operator names by e-mail address or by the uid of the identity.
import { Code } from '../../aip/code.ts'
import { failedPrecondition, StatusError } from '../../aip/errors.ts'
import { isUid, parentOf } from '../../aip/uid.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import type { LoginAddress } from '../login/accounts.ts'
import { canonicalEmail, findAccount, loginAddressOf } from '../login/accounts.ts'
import { claimantsOf } from '../login/claimed-accounts.ts'
import { isPerson } from './list-people.ts'

const maxListedClaimants = 10

/** The uid of a person. Throws if there is none, and for a workload. */
export function* findPerson(person: string): Work<string> {
  const identity = isUid(person) ? person : yield* identityOf(person)
  if (parentOf(identity) !== '')
    throw failedPrecondition(
      'NOT_A_PERSON',
      `${identity} is a workload, which does not sign in; delete its role bindings instead`,
    )
  if (!(yield* first(sql`select uid from identities where uid = ${identity} and ${raw(isPerson)}`)))
    throw new StatusError(Code.NOT_FOUND, `there is no person ${identity}`)
  return identity
}

/** A person who has a password, or can choose one, and the address with which they sign in. */
export function* findLogin(person: string): Work<{ identity: string; address: LoginAddress }> {
  const identity = isUid(person) ? person : yield* identityOf(person)
  const address = yield* loginAddressOf(identity)
  if (!address) throw failedPrecondition('NO_LOCAL_ACCOUNT', `${person} does not sign in with a password`)
  return { identity, address }
}

/** If several people have made accounts with the address, the operator must name one of them by uid instead. */
function* identityOf(email: string): Work<string> {
  const account = yield* findAccount(email)
  if (account) return account.identity
  const [claimant, ...others] = yield* claimantsOf(canonicalEmail(email), maxListedClaimants)
  if (claimant === undefined)
    throw new StatusError(Code.NOT_FOUND, `no one signs in with ${email}; use stemmad users add ${email}`)
  if (others.length > 0)
    throw failedPrecondition(
      'ADDRESS_NOT_UNIQUE',
      `several people have made accounts with ${email}, which nobody has verified; name one of them by uid: ${[claimant, ...others].join(', ')}`,
    )
  return claimant
}
