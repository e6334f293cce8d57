import type { DescMessage } from '@bufbuild/protobuf'
import { notFound } from '../aip/errors.ts'
import { admitToRow } from '../policy/admit.ts'
import type { Call } from '../rpc/call.ts'
import type { Store } from '../store/db.ts'
import { renderedRow } from '../store/row-query.ts'
import type { Rendered } from '../store/table.ts'
import { readBytes } from '../store/table.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen } from '../wire/maybe-promise.ts'
import type { Reply } from '../wire/reply.ts'
import type { Kind } from './kind.ts'
import { redactionFor } from './kind.ts'
import { rowReply } from './reply.ts'

/** A second statement reads the message as bytes if the stored JSON is stale or the caller may not see all of it. */
export function getResource(store: Store, kind: Kind<DescMessage>, call: Call): MaybePromise<Reply> {
  const { scope } = call.demand
  const query = renderedRow(kind.table, scope, kind.forms[call.form], call.demand.now())
  return andThen(admitToRow(store, call.demand, query), ({ grants, row }): MaybePromise<Reply> => {
    if (!row) throw notFound(kind.desc.typeName, scope)
    const [updateTime, rendered] = row as [number, Rendered | null]
    const redaction = redactionFor(kind, grants)
    if (rendered !== null && !redaction) return rowReply(kind, rendered, updateTime)
    return andThen(
      store.read(() => readBytes(kind.table, [scope])),
      (bytesByUid) => {
        const bytes = bytesByUid.get(scope)
        // The row was deleted between the two statements.
        if (!bytes) throw notFound(kind.desc.typeName, scope)
        return rowReply(kind, redaction?.apply(grants, bytes) ?? bytes, updateTime)
      },
    )
  })
}
