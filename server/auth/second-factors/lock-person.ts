import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'

/**
 * Waits for concurrent changes to the second factors of the person, until the end of the transaction. Statements after
 * this one see those changes.
 */
export function* lockPerson(identity: string): Work<void> {
  yield sql`select uid from identities where uid = ${identity} /*pg for update */`
}
