import type { AccountAction } from '../../store/events/authentication-actions.ts'
import type { Work } from '../../store/work.ts'
import type { Reply } from '../../wire/reply.ts'
import { emptyReply } from '../../wire/reply.ts'
import { recordAccountEvent } from '../administration/administration.ts'
import type { AccountAccess, AccountCall, AccountDependencies, AdmitOptions } from './account-call.ts'

/** Admits the caller and runs the work, in one transaction. */
export const runAccountCall = <D, T>(
  deps: AccountDependencies<D>,
  { demand, deadline }: AccountCall<D>,
  work: (identity: string, access: AccountAccess) => Work<T>,
  options: AdmitOptions = { freshSignIn: false },
): Promise<T> =>
  deps.store.write(function* () {
    const access = yield* deps.admit(demand, options)
    return yield* work(access.caller.identity, access)
  }, deadline)

/** Like `runAccountCall`, for a change with an empty response. Records the change as `action`. */
export async function changeAccount<D>(
  deps: AccountDependencies<D>,
  call: AccountCall<D>,
  action: AccountAction,
  work: (identity: string) => Work<void>,
  options: AdmitOptions = { freshSignIn: false },
): Promise<Reply> {
  await runAccountCall(
    deps,
    call,
    function* (identity, access) {
      yield* work(identity)
      yield* recordAccountEvent(access, identity, action)
    },
    options,
  )
  return emptyReply
}
