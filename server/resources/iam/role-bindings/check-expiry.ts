// Compares the column `expire_time` of role bindings with the expiry in the stored message, for
// `stemmad check`.
import type { Store } from '../../../store/db.ts'
import { sql } from '../../../store/sql.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { messageOf } from '../../kind.ts'
import { roleBindings } from './table.ts'

/** Rows are read in batches to limit the memory use. */
const batchSize = 500

/** Returns the uids of role bindings that differ. With `repairAccess`, corrects the column. */
export async function checkExpiry(store: Store, repairAccess: WriteAccess | undefined): Promise<string[]> {
  const wrong: string[] = []
  for (let after = ''; ; ) {
    const rows = (await store.query(sql`select uid, proto, expire_time from role_bindings
      where uid > ${after} order by uid limit ${batchSize}`)) as [string, Uint8Array, number][]
    for (const [uid, proto, inColumn] of rows) {
      after = uid
      const inMessage = roleBindings.columnsOf(messageOf(roleBindings, proto)).expire_time as number
      if (inMessage === inColumn) continue
      wrong.push(uid)
      if (repairAccess)
        // Only if the row has not changed meanwhile.
        await store.write(function* () {
          yield sql`update role_bindings set expire_time = ${inMessage} where uid = ${uid} and proto = ${proto}`
        })
    }
    if (rows.length < batchSize) return wrong
  }
}
