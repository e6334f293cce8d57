import type { DescMessage } from '@bufbuild/protobuf'
import { notFound } from '../aip/errors.ts'
import type { Reply } from '../aip/passage.ts'
import type { Soon } from '../aip/soon.ts'
import { then } from '../aip/soon.ts'
import { admitToRow } from '../policy/admit.ts'
import type { Call } from '../rpc/call.ts'
import type { Store } from '../store/db.ts'
import { readBytes } from '../store/table.ts'
import type { Kind } from './kind.ts'
import { formOf } from './kind.ts'
import { rowReply } from './reply.ts'

/** Access and row are read in one statement. */
export function getResource(store: Store, kind: Kind<DescMessage>, call: Call): Soon<Reply> {
  const { scope } = call.demand
  const { statement, open } = admitToRow(call.demand, kind.table, formOf(kind, call.form))
  return then(store.query(statement), (rows) => {
    const row = open(rows)
    if (!row) throw notFound(kind.desc.typeName, scope)
    if (row.leaving !== null) return rowReply(kind, row.leaving, row.updateTime)
    return then(
      store.read(() => readBytes(kind.table, [scope])),
      (found) => {
        const bytes = found.get(scope)
        // Gone between the two statements.
        if (!bytes) throw notFound(kind.desc.typeName, scope)
        return rowReply(kind, bytes, row.updateTime)
      },
    )
  })
}
