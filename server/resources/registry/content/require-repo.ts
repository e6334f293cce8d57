import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { noRepo } from './content-errors.ts'

// If a client names a repo that does not exist, these functions are called with the uid of the group
// in which the repo would be, so that access is checked before existence. Then the functions throw,
// because no repo has the uid of a group.

/** Throws if there is no repo with this uid. Nobody can delete the repo before the current transaction ends. */
export function* lockRepo(uid: string): Work<string> {
  const row = yield* first(sql`select uid from repos where uid = ${uid} /*pg for key share */`)
  if (!row) throw noRepo()
  return uid
}

/** Throws if there is no repo with this uid. */
export function* requireRepo(uid: string): Work<void> {
  if (!(yield* first(sql`select 1 from repos where uid = ${uid}`))) throw noRepo()
}

/** Throws `missing` because content was not found. If the repo does not exist, throws another error. */
export function* throwMissing(repo: string, missing: Error): Work<never> {
  yield* requireRepo(repo)
  throw missing
}
