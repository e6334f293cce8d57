// Adds and removes operators of the server. Every function is work of a transaction, and records a
// change in the audit log of the person.
import { failedPrecondition } from '../../aip/errors.ts'
import type { Recording } from '../../store/events/record.ts'
import { deleteOperator, insertOperator } from '../../store/operators.ts'
import type { Work } from '../../store/work.ts'
import { findAccount } from '../login/accounts.ts'
import { recordAccountEvent } from './administration.ts'
import { findLogin, findPerson } from './find-person.ts'

/**
 * `person` is an e-mail address or a uid. An account whose address nobody has verified is refused: everybody with an
 * invite can make an account with the address of somebody else.
 */
export function* addOperator(access: Recording, person: string, now: number): Work<string> {
  const { identity, address } = yield* findLogin(person)
  const account = yield* findAccount(address.email)
  if (account?.identity !== identity || !account.isVouched)
    throw failedPrecondition(
      'ADDRESS_NOT_VERIFIED',
      `nobody has verified that ${address.email} belongs to ${identity}; run stemmad users add ${address.email}, which makes an account for the address`,
    )
  if (yield* insertOperator(identity, now)) yield* recordAccountEvent(access, identity, 'operator-added')
  return identity
}

export function* removeOperator(access: Recording, person: string): Work<string> {
  const identity = yield* findPerson(person)
  if (!(yield* deleteOperator(identity)))
    throw failedPrecondition('NOT_AN_OPERATOR', `${person} is not an operator`)
  yield* recordAccountEvent(access, identity, 'operator-removed')
  return identity
}
