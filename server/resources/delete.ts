import type { DescMessage } from '@bufbuild/protobuf'
import { failedPrecondition, notFound } from '../aip/errors.ts'
import { requireMatch, requireNoIfMatch } from '../aip/etag.ts'
import { isUid, lineage, parentOf } from '../aip/uid.ts'
import type { Demand } from '../policy/admit.ts'
import { admitToWrite } from '../policy/admit.ts'
import type { Call } from '../rpc/call.ts'
import { StoreError } from '../store/store-error.ts'
import { deleteEntry, readForDelete } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import type { WriteAccess } from '../store/write-access.ts'
import type { Reply } from '../wire/reply.ts'
import { emptyReply } from '../wire/reply.ts'
import type { Dependencies } from './dependencies.ts'
import type { Kind } from './kind.ts'

export type DeleteOptions = {
  /** Whether deleting a resource that does not exist succeeds. */
  isIdempotent?: boolean
  /** Whether the caller needs no capability for this resource. Its uid is well-formed. */
  isOpenToCaller?(uid: string, demand: Demand): Work<boolean>
  /**
   * Deletes rows that depend on the resource, a bounded number of them. Returns whether there may be more. If so, the
   * transaction ends here, and the next one continues: a large transaction would delay all other calls. `isFirst`: no
   * batch of this call was deleted before.
   */
  removeBatch?(uid: string, access: WriteAccess, isFirst: boolean): Work<boolean>
  /** Checks preconditions, and deletes rows that depend on the resource. */
  beforeDelete?(uid: string, access: WriteAccess): Work<void>
  /** Deletes the row; by default `removeEntry`. */
  remove?(access: WriteAccess, uid: string): Work<void>
  /** The error message if other resources still refer to this one. */
  inUse?: string
}

/** If a call is interrupted between two batches, it can be repeated. */
export async function deleteResource(
  { store, validatesOnly }: Dependencies,
  kind: Kind<DescMessage>,
  call: Call,
  options: DeleteOptions = {},
): Promise<Reply> {
  if (validatesOnly) await store.write(() => deleteInOneTransaction(kind, call, options), call.deadline)
  // A transaction that is repeated has the same `isFirst`.
  else
    for (let [isFirst, isDone] = [true, false]; !isDone; isFirst = false)
      isDone = await store.write(() => deleteOrContinue(kind, call, options, isFirst), call.deadline)
  return emptyReply
}

/** A validation deletes at most this many batches: a large transaction would delay all other calls. */
const maxValidatedBatches = 5

/** For a validation: after a rollback, a second transaction would delete the same batch again. */
function* deleteInOneTransaction(kind: Kind<DescMessage>, call: Call, options: DeleteOptions): Work<void> {
  for (let batch = 0; batch < maxValidatedBatches; batch++)
    if (yield* deleteOrContinue(kind, call, options, batch === 0)) return
}

/** Returns false if it has only deleted a batch of the rows that depend on the resource. */
function* deleteOrContinue(
  kind: Kind<DescMessage>,
  call: Call,
  { isIdempotent = false, isOpenToCaller, removeBatch, beforeDelete, remove, inUse }: DeleteOptions,
  isFirst: boolean,
): Work<boolean> {
  const { demand } = call
  const uid = demand.scope
  const isOpen = isOpenToCaller && isUid(uid) && (yield* isOpenToCaller(uid, demand))
  const access = yield* admitToWrite(isOpen ? { ...demand, capabilities: [] } : demand)
  const row = yield* readForDelete(kind.table, uid, { liveAt: access.time })
  if (row) {
    requireMatch(call.ifMatch, row.updateTime)
    if (removeBatch && (yield* removeBatch(uid, access, isFirst))) return false
    if (beforeDelete) yield* beforeDelete(uid, access)
    if (remove) yield* remove(access, uid)
    else yield* removeUnlessInUse(access, kind, uid, inUse)
  } else if (!isIdempotent) throw notFound(kind.desc.typeName, uid)
  else requireNoIfMatch(call.ifMatch)
  return true
}

function* removeUnlessInUse(
  access: WriteAccess,
  kind: Kind<DescMessage>,
  uid: string,
  inUse: string | undefined,
): Work<void> {
  try {
    yield* removeEntry(access, kind, uid)
  } catch (error) {
    if (inUse && error instanceof StoreError && error.kind === 'foreign-key')
      throw failedPrecondition('RESOURCE_IN_USE', inUse)
    throw error
  }
}

/** Deletes a row; throws if it does not exist. */
export function* removeEntry(access: WriteAccess, kind: Kind<DescMessage>, uid: string): Work<void> {
  const existed = yield* deleteEntry(access, kind.table, uid, lineage(parentOf(uid)))
  if (!existed) throw notFound(kind.desc.typeName, uid)
}
