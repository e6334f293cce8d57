import type { WriteGrants } from '../../../policy/admit.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Store } from '../../../store/db.ts'
import type { Work } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'

/** Authorizes the call and runs its work, in one write transaction. */
export const admittedWrite = (store: Store, call: Call, work: (grants: WriteGrants) => Work<Reply>) =>
  store.write(function* () {
    return yield* work(yield* admitToWrite(call.demand))
  }, call.deadline)
