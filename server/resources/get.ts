import type { DescMessage } from '@bufbuild/protobuf'
import { notFound } from '../aip/errors.ts'
import type { Reply } from '../aip/passage.ts'
import { admitToRow } from '../policy/admit.ts'
import type { Call } from '../rpc/call.ts'
import type { Store } from '../store/db.ts'
import { readBytes } from '../store/table.ts'
import type { Kind } from './kind.ts'
import { formOf } from './kind.ts'
import { rowReply } from './reply.ts'

/** Access and row are read in one statement. */
export async function getResource(store: Store, kind: Kind<DescMessage>, call: Call): Promise<Reply> {
  const { scope } = call.demand
  const { statement, open } = admitToRow(call.demand, kind.table, formOf(kind, call.form))
  const row = open(await store.query(statement))
  if (!row) throw notFound(kind.desc.typeName, scope)
  const leaving = row.leaving ?? (await store.read(() => readBytes(kind.table, [scope]))).get(scope)
  // Gone between the two statements.
  if (leaving === undefined) throw notFound(kind.desc.typeName, scope)
  return rowReply(kind, leaving, row.updateTime)
}
