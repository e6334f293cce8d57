import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'

/**
 * Locks the second factors of the person until the end of the transaction. The statements that follow see the changes
 * of transactions that had the lock before.
 */
export function* lockPerson(identity: string): Work<void> {
  yield sql`select uid from identities where uid = ${identity} /*pg for update */`
}
