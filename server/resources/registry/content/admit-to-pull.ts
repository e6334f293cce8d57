// Authorizes a pull. Everybody may pull from a public repo, also without credentials, if the server allows it.
import { Code } from '../../../aip/code.ts'
import { StatusError, unauthenticated } from '../../../aip/errors.ts'
import type { Demand } from '../../../policy/admit.ts'
import { admitToRead, admitToRow } from '../../../policy/admit.ts'
import type { Store } from '../../../store/db.ts'
import type { RowQuery } from '../../../store/row-query.ts'
import { selectRow } from '../../../store/row-query.ts'
import type { Row } from '../../../store/sql.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { MaybePromise } from '../../../wire/maybe-promise.ts'
import { andThen, recover } from '../../../wire/maybe-promise.ts'
import type { Reply } from '../../../wire/reply.ts'
import type { Dependencies, Pull, Settings } from '../../dependencies.ts'
import { requireRepo } from './require-repo.ts'

/** Reads whether the repo is public, but only if the caller has no access of their own. */
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

export type PullHandlers = {
  reply(row: Row): Reply
  /** The error if the repo exists and has no such content. */
  missing(): Error
  /** The facts of the pull that the event log records. */
  describe(row: Row | undefined, error?: Error): Pull
}

/**
 * Reads one row for a pull together with the grants. If the row does not exist, or the caller has no
 * grants, further statements find out whether the repo is public, the caller is refused, or the
 * content does not exist.
 */
export function pullRow(
  { store, settings, recordPull }: Pick<Dependencies, 'store' | 'settings' | 'recordPull'>,
  demand: Demand,
  query: RowQuery,
  { reply, missing, describe }: PullHandlers,
): MaybePromise<Reply> {
  const answer = (row: Row) => {
    recordPull(demand, describe(row))
    return reply(row)
  }
  const readSeparately = () =>
    andThen(
      store.read(function* () {
        yield* admitToPull(settings, demand)
        const row = yield* first(selectRow(query))
        if (!row) yield* requireRepo(demand.scope)
        return row
      }),
      (row) => {
        if (row) return answer(row)
        const error = missing()
        recordPull(demand, describe(undefined, error))
        throw error
      },
    )
  if (demand.caller.identity === '') return readSeparately()
  return andThen(grantedRow(store, demand, query), (row) => (row ? answer(row) : readSeparately()))
}

/** Undefined if the row does not exist, or the caller has no grants for it. */
const grantedRow = (store: Store, demand: Demand, query: RowQuery) =>
  recover(
    () => andThen(admitToRow(store, demand, query), ({ row }) => row),
    (error) => {
      if (error instanceof StatusError && error.code === Code.PERMISSION_DENIED) return undefined
      throw error
    },
  )

/** The same whether the repo is not public or does not exist. */
const missingCredentials = () => unauthenticated('this request needs credentials; sign in to the registry')

export function* isPublicRepo(uid: string): Work<boolean> {
  return (yield* first(sql`select 1 from repos where uid = ${uid} and public = 1`)) !== undefined
}
