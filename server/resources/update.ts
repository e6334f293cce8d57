import type { DescField, DescMessage, Message, MessageShape } from '@bufbuild/protobuf'
import { equals } from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { FieldMask } from '@bufbuild/protobuf/wkt'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { alreadyExists, invalidArgument, notFound, operatorOnly } from '../aip/errors.ts'
import { requireMatch } from '../aip/etag.ts'
import { applyMask, parseMask, populatedPaths } from '../aip/field-mask.ts'
import { violationsOf } from '../aip/validate.ts'
import type { WriteGrants } from '../policy/admit.ts'
import { admitToWrite } from '../policy/admit.ts'
import type { Call } from '../rpc/call.ts'
import type { Sql } from '../store/sql.ts'
import { StoreError } from '../store/store-error.ts'
import type { Columns } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import type { Reply } from '../wire/reply.ts'
import type { HookResult, Times } from './create.ts'
import { resultOf } from './create.ts'
import type { Dependencies } from './dependencies.ts'
import type { ExtraColumns, ExtraValues, Kind } from './kind.ts'
import { withoutInput } from './kind.ts'
import { readReply, writtenReply } from './reply.ts'
import { resourceIn } from './request-resource.ts'
import { lockResource, nextUpdateTime, replaceResource } from './stored-resource.ts'

export type UpdateRequest = Message & { updateMask?: FieldMask | undefined }

type Resource = Message & Times

export type UpdateContext<D extends DescMessage, X extends ExtraColumns> = {
  /** The resource before the update. */
  current: MessageShape<D>
  /** The extra columns before the update. */
  columns: ExtraValues<X>
  mask: DescField[][]
  /** The resource after the update. The hook may change it further. */
  merged: MessageShape<D>
  grants: WriteGrants
  /** The new update time, if the update changes the resource. */
  time: number
}

export type UpdateOptions<D extends DescMessage, X extends ExtraColumns> = {
  /** A statement that locks rows before the resource. All calls lock in the same order, so that there is no deadlock. */
  lockFirst?(uid: string): Sql
  /**
   * Checks rules that the contract cannot express, and sets the fields that only the service sets. Returns the extra
   * columns that change.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most hooks return nothing
  beforeUpdate?(context: UpdateContext<D, X>): HookResult<Partial<ExtraValues<X>> | void>
  /**
   * Deletes rows that the update makes invalid, a bounded number of them, after all checks. Returns whether there may be
   * more. If so, the transaction ends here, and the next one continues with all checks: a large transaction would delay
   * all other calls. A validation deletes nothing.
   */
  removeBatch?(context: UpdateContext<D, X>): Work<boolean>
  /** The error message if a unique constraint is violated, such as that on the name. */
  conflict?(merged: MessageShape<D>): string
}

/**
 * Reads, merges, checks and writes in one transaction, so that no concurrent change is lost. If a call is interrupted
 * between two batches of `removeBatch`, it can be repeated.
 */
export async function updateResource<D extends DescMessage, X extends ExtraColumns>(
  deps: Dependencies,
  kind: Kind<D, X>,
  call: Call<UpdateRequest>,
  options: UpdateOptions<D, X> = {},
): Promise<Reply> {
  for (;;) {
    const reply = await deps.store.write(() => update(deps, kind, call, options), call.deadline)
    if (reply) return reply
  }
}

/** Returns undefined if it has only deleted a batch of rows. */
function* update<D extends DescMessage, X extends ExtraColumns>(
  { now, validatesOnly }: Dependencies,
  kind: Kind<D, X>,
  call: Call<UpdateRequest>,
  { lockFirst, beforeUpdate, removeBatch, conflict }: UpdateOptions<D, X>,
): Work<Reply | undefined> {
  const grants = yield* admitToWrite(call.demand)
  const uid = call.demand.scope
  if (lockFirst) yield lockFirst(uid)
  const stored = yield* lockResource(kind, uid, { liveAt: grants.time })
  if (!stored) throw notFound(kind.desc.typeName, uid)
  const { resource: current, columns, updateTime } = stored
  const sent = resourceIn(kind, call)
  const mask = maskOf(kind.desc, sent, call.request.updateMask)
  const merged = merge(kind, uid, current, sent, mask)
  const time = nextUpdateTime(now(), updateTime)
  const context = { current, columns, mask, merged, grants, time }
  const changedColumns = yield* resultOf(beforeUpdate?.(context))
  // The entity tag is compared after all checks of values (docs/specification.md, Authentication). Reading the
  // resource again would not correct a wrong value, so the caller is told of wrong values first.
  requireMatch(call.ifMatch, updateTime)
  if (removeBatch && !validatesOnly && (yield* removeBatch(context))) return undefined
  const updated = withoutInput(kind, merged)
  if (!equals(kind.desc, current, updated) || !isSame(columns, changedColumns ?? {})) {
    stamp(updated as Resource, time)
    const change = { uid, updateTime: time, columns: differing(columns, changedColumns ?? {}) }
    const written = yield* withConflict(replaceResource(grants, kind, updated, change), conflict?.(merged))
    return yield* writtenReply(kind, written, call.form, grants)
  }
  return yield* readReply(kind, uid, call.form, grants)
}

function merge<D extends DescMessage>(
  { desc }: Kind<D>,
  uid: string,
  current: MessageShape<D>,
  sent: MessageShape<D>,
  mask: DescField[][],
): MessageShape<D> {
  const { merged, operatorFields } = applyMask(desc, current, sent, mask)
  const [forbidden] = operatorFields
  if (forbidden) throw operatorOnly(forbidden.name, uid)
  const [fault, ...others] = violationsOf(desc, merged)
  if (fault) throw invalidArgument(fault, ...others)
  return merged as MessageShape<D>
}

function stamp(resource: Resource, updateTime: number): void {
  if (resource.updateTime) resource.updateTime = timestampFromMs(updateTime)
}

/** A violated unique constraint becomes an error for the caller. */
function* withConflict<T>(write: Work<T>, conflict: string | undefined): Work<T> {
  try {
    return yield* write
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'unique' && conflict) throw alreadyExists(conflict)
    throw error
  }
}

/** The fields that an update changes: those of the mask or, without one, those that the message sets. */
export function maskOf(desc: DescMessage, sent: Message, mask: FieldMask | undefined): DescField[][] {
  const reflected = reflect(desc, sent)
  // Blank paths are those of a client that splits an empty text.
  const hasPaths = mask?.paths.some((path) => path.trim() !== '')
  return mask && hasPaths ? parseMask(desc, mask.paths, reflected) : populatedPaths(reflected)
}

/** Whether a mask names exactly this field, and not only a message that contains it. */
export const isNamed = (mask: DescField[][], path: string) =>
  mask.some((fields) => fields.map(({ name }) => name).join('.') === path)

/** Only columns that change, so that the event names only fields that change. */
const differing = <X extends ExtraColumns>(columns: ExtraValues<X>, changed: Partial<ExtraValues<X>>) =>
  Object.fromEntries(
    Object.entries(changed).filter(([column, value]) => columns[column] !== value),
  ) as Partial<ExtraValues<X>>

const isSame = (columns: Columns, changed: Partial<Columns>): boolean =>
  Object.entries(changed).every(([column, value]) => columns[column] === value)
