// Authorizes a pull. Everybody may pull from a public repo, also without credentials, if the server allows it.
import { Code } from '../../../aip/code.ts'
import { StatusError, unauthenticated } from '../../../aip/errors.ts'
import type { Demand } from '../../../policy/admit.ts'
import { admitToRead } from '../../../policy/admit.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Settings } from '../../dependencies.ts'

/** Reads whether the repo is public only if the caller has no access of their own. */
export function* admitToPull({ publicRepos }: Settings, demand: Demand): Work<void> {
  const isAnonymous = demand.caller.identity === ''
  try {
    if (isAnonymous) throw missingCredentials()
    yield* admitToRead(demand)
  } catch (error) {
    const isRefusal = isAnonymous || (error instanceof StatusError && error.code === Code.PERMISSION_DENIED)
    if (!publicRepos || !isRefusal || !(yield* isPublicRepo(demand.scope))) throw error
    if (demand.fault) throw demand.fault
  }
}

/** The same whether the repo is not public or does not exist. */
const missingCredentials = () => unauthenticated('this request needs credentials; sign in to the registry')

export function* isPublicRepo(uid: string): Work<boolean> {
  return (yield* first(sql`select 1 from repos where uid = ${uid} and public = 1`)) !== undefined
}
