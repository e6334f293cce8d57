import { admit } from '../../../policy/admit.ts'
import type { Grants } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Store } from '../../../store/db.ts'
import type { Work } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'

/** Authorizes the call and runs its work, in one write transaction. */
export const admittedWrite = (store: Store, call: Call, work: (grants: Grants) => Work<Reply>) =>
  store.write(function* () {
    return yield* work(yield* admit(call.demand, true))
  }, call.deadline)
