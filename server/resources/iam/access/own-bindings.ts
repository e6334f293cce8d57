// Questions about deleting a role binding: people may delete their own without any capability.
import { forever } from '../../../policy/decide.ts'
import { neverExpires } from '../../../store/expiry.ts'
import type { Work } from '../../../store/work.ts'
import type { Caller } from '../../../wire/caller.ts'
import { findOwnBindings } from '../own-bindings.ts'
import type { Need } from './need.ts'

/**
 * The needs, with `ownUntil` where the identity may delete the role binding as its own. `identityOf`
 * returns the identity that a need is about. Nothing is read if no question is about a deletion.
 */
export function* resolveOwnBindings(
  { identity: self, limits }: Caller,
  time: number,
  needs: readonly Need[],
  identityOf: (at: number) => string,
): Work<readonly Need[]> {
  if (!needs.some(isBindingDeletion)) return needs
  /** The uid of a role binding that the identity may delete if it is its own. */
  const bindingAt = (need: Need, at: number) =>
    need.kind === 'at' && need.isBindingDeletion && !(limits && identityOf(at) === self) ? need.uid : ''
  const bindings = yield* findOwnBindings(needs.map(bindingAt).filter(Boolean), time)
  return needs.map((need, at) => {
    const own = bindings.get(bindingAt(need, at))
    if (need.kind !== 'at' || own?.person !== identityOf(at)) return need
    return { ...need, ownUntil: own.expireTime === neverExpires ? forever : own.expireTime }
  })
}

const isBindingDeletion = (need: Need) => need.kind === 'at' && need.isBindingDeletion === true
