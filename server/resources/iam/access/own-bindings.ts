// Questions about the deletion of a role binding: people may delete their own ones without any capability.
import { forever } from '../../../policy/decide.ts'
import { neverExpires } from '../../../store/expiry.ts'
import type { Work } from '../../../store/work.ts'
import type { Caller } from '../../../wire/caller.ts'
import { findOwnBindings } from '../own-bindings.ts'
import type { Need } from './need.ts'

/** `identity` is the uid of the identity that the question is about. */
export type IdentityNeed = { need: Need; identity: string }

/** The needs, with `ownUntil` for those role bindings that their identities may delete. */
export function* resolveOwnBindings(
  { identity: self, limits }: Caller,
  time: number,
  questions: readonly IdentityNeed[],
): Work<Need[]> {
  /** The uid of a role binding that the identity may delete if it is its own. */
  const bindingOf = ({ need, identity }: IdentityNeed) =>
    need.kind === 'at' && need.isBindingDeletion && !(limits && identity === self) ? need.uid : ''
  const uids = questions.map(bindingOf).filter((uid) => uid !== '')
  const bindings = yield* findOwnBindings(uids, time)
  return questions.map((question) => {
    const { need, identity } = question
    const own = bindings.get(bindingOf(question))
    if (need.kind !== 'at' || own?.person !== identity) return need
    return { ...need, ownUntil: own.expireTime === neverExpires ? forever : own.expireTime }
  })
}
