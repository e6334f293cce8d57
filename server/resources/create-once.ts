// The transaction of every create. With an idempotency key, it runs once for the key.
import { admitToWrite } from '../policy/admit.ts'
import type { Call } from '../rpc/call.ts'
import type { Work } from '../store/work.ts'
import type { Reply } from '../wire/reply.ts'
import type { Creation, Dependencies } from './dependencies.ts'

/**
 * Authorizes the call with `admit` and runs `create`, in one transaction. If the call is repeated with the same
 * idempotency key, only `admit` runs, so it must contain every check of who may make the call.
 */
export function createOnce(
  { store, idempotency }: Pick<Dependencies, 'store' | 'idempotency'>,
  call: Call,
  create: Creation['create'],
  admit: Creation['admit'] = () => admitToWrite(call.demand),
): Promise<Reply> {
  if (call.sentKey) return idempotency.run(store, call, call.sentKey, { admit, create })
  return store.write(() => admitAndCreate({ admit, create }), call.deadline)
}

function* admitAndCreate({ admit, create }: Creation): Work<Reply> {
  return yield* create(yield* admit())
}
