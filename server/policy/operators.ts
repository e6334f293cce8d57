// Operators of the server may call the methods that concern all organizations. The list is in the store.
import { Code } from '../aip/code.ts'
import { StatusError } from '../aip/errors.ts'
import { isOperator, lockOperator } from '../store/operators.ts'
import type { Work } from '../store/work.ts'
import type { Caller } from '../wire/caller.ts'

/**
 * Whether the token of a caller can be used as that of an operator: it comes from a sign-in of the
 * person themselves, not through an identity provider, and has no limits. It is not that of an
 * identity that the person has assumed.
 */
const isOwnToken = ({ identity, limits, signIn }: Caller): boolean =>
  !limits && signIn !== undefined && signIn.person === identity && signIn.provider === undefined

export function* mayOperate(caller: Caller): Work<boolean> {
  return isOwnToken(caller) && (yield* isOperator(caller.identity))
}

export function* requireOperatorToRead(caller: Caller): Work<void> {
  if (!(yield* mayOperate(caller))) throw operatorsOnly()
}

export function* requireOperatorToWrite(caller: Caller): Work<void> {
  if (!isOwnToken(caller) || !(yield* lockOperator(caller.identity))) throw operatorsOnly()
}

const operatorsOnly = () =>
  new StatusError(
    Code.PERMISSION_DENIED,
    'only operators of this server may do this, with a token of their own sign-in that is not limited',
  )
