import type { DescField, DescMessage, Message, MessageShape } from '@bufbuild/protobuf'
import { equals } from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { FieldMask } from '@bufbuild/protobuf/wkt'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { alreadyExists, invalidArgument, notFound, operatorOnly } from '../aip/errors.ts'
import { requireMatch } from '../aip/etag.ts'
import { applyMask, parseMask, populatedPaths } from '../aip/field-mask.ts'
import { violationsOf } from '../aip/validate.ts'
import { admit } from '../policy/admit.ts'
import type { Grants } from '../policy/grants.ts'
import type { Call } from '../rpc/call.ts'
import type { Value } from '../store/sql.ts'
import { StoreError } from '../store/store-error.ts'
import type { Entry } from '../store/table.ts'
import { keptOf, selectForUpdate, updateEntry } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
import type { Reply } from '../wire/reply.ts'
import type { Preparation, Times } from './create.ts'
import { prepared } from './create.ts'
import type { Dependencies } from './dependencies.ts'
import type { Kind } from './kind.ts'
import { entryOf, factsOf, messageOf, withoutInput } from './kind.ts'
import { readReply } from './reply.ts'
import { resourceIn } from './request-resource.ts'

export type UpdateRequest = Message & { updateMask?: FieldMask | undefined }

type Resource = Message & { name?: string } & Times

/** An update on its way: what there was, what is to change, and what becomes of it. */
export type Revision<D extends DescMessage> = {
  current: MessageShape<D>
  /** The values of the table's own columns so far. */
  columns: readonly Value[]
  mask: DescField[][]
  /** May be changed further. */
  merged: MessageShape<D>
  grants: Grants
  /** The time that the resource will bear, if it changes. */
  time: number
}

export type Updating<D extends DescMessage> = {
  /** Checks what the contract cannot say, and sets what only the service sets. */
  revise?(revision: Revision<D>): Preparation
  /** What to say if there is one like it already. */
  conflict?(merged: MessageShape<D>): string
}

/** Reads, merges, checks and writes in one piece, so that no change of somebody else is lost. */
export function updateResource<D extends DescMessage>(
  { store, now }: Dependencies,
  kind: Kind<D>,
  call: Call<UpdateRequest>,
  { revise, conflict }: Updating<D> = {},
): Promise<Reply> {
  return store.write(function* () {
    const grants = yield* admit(call.demand, true)
    const uid = call.demand.scope
    const row = yield* first(selectForUpdate(kind.table, uid))
    if (!row) throw notFound(kind.desc.typeName, uid)
    const { proto, updateTime, columns } = keptOf(row)
    requireMatch(call.ifMatch, updateTime)
    const current = messageOf(kind, proto)
    const sent = resourceIn(kind, call)
    const mask = maskOf(kind.desc, sent, call.request.updateMask)
    const merged = merge(kind, uid, current, sent, mask)
    const time = Math.max(now(), updateTime + 1)
    const revised = yield* prepared(revise?.({ current, columns, mask, merged, grants, time }))
    const kept = withoutInput(kind.desc, merged)
    const values = revised ?? kind.columns(merged)
    if (equals(kind.desc, current, kept) && isSame(values, columns))
      return yield* readReply(kind, uid, call.form)
    const facts = stamp(uid, kept as Resource, time)
    yield* write(kind, entryOf(kind, kept, facts, values), conflict?.(merged))
    return yield* readReply(kind, uid, call.form)
  }, call.deadline)
}

function merge<D extends DescMessage>(
  { desc }: Kind<D>,
  uid: string,
  current: MessageShape<D>,
  sent: MessageShape<D>,
  mask: DescField[][],
): MessageShape<D> {
  const { merged, guarded } = applyMask(desc, current, sent, mask)
  const [forbidden] = guarded
  if (forbidden) throw operatorOnly(forbidden.name, uid)
  const [fault, ...others] = violationsOf(desc, merged)
  if (fault) throw invalidArgument(fault, ...others)
  return merged as MessageShape<D>
}

/** The time of a change is later than that of the change before, whatever the clock says: tags are made of it. */
function stamp(uid: string, resource: Resource, updateTime: number) {
  if (resource.updateTime) resource.updateTime = timestampFromMs(updateTime)
  return factsOf(uid, resource, updateTime)
}

function* write(kind: Kind<DescMessage>, entry: Entry, conflict: string | undefined): Work<void> {
  try {
    yield* updateEntry(kind.table, entry)
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'unique' && conflict) throw alreadyExists(conflict)
    throw error
  }
}

function maskOf(desc: DescMessage, sent: Message, mask: FieldMask | undefined): DescField[][] {
  if (mask && mask.paths.length > 0) return parseMask(desc, mask.paths)
  return populatedPaths(reflect(desc, sent))
}

/** Whether a mask names exactly this field, and not only what it lies in. */
export const isNamed = (mask: DescField[][], path: string) =>
  mask.some((fields) => fields.map(({ name }) => name).join('.') === path)

function isSame(values: readonly Value[], columns: readonly Value[]): boolean {
  return values.every((value, at) => {
    const before = columns[at] ?? null
    return value instanceof Uint8Array && before instanceof Uint8Array
      ? Buffer.compare(value, before) === 0
      : value === before
  })
}
