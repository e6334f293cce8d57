import type { DescMessage, Message, MessageShape } from '@bufbuild/protobuf'
import { clone } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { isOutputOnly, rulesOf } from '@stemma/api/method.ts'
import { alreadyExists, notFound, operatorOnly } from '../aip/errors.ts'
import { isBranch } from '../aip/field-path.ts'
import { lineage, newChildUid, parentOf } from '../aip/uid.ts'
import { insertWithinLimits } from '../limits/quota/insert-within-limits.ts'
import type { WriteGrants } from '../policy/admit.ts'
import type { Call } from '../rpc/call.ts'
import { StoreError } from '../store/store-error.ts'
import type { Entry } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import type { WriteAccess } from '../store/write-access.ts'
import type { Reply } from '../wire/reply.ts'
import { createOnce } from './create-once.ts'
import type { Dependencies } from './dependencies.ts'
import type { ExtraColumns, ExtraValues, Kind } from './kind.ts'
import { entryOf } from './kind.ts'
import { writtenReply } from './reply.ts'
import { resourceIn } from './request-resource.ts'

export type Times = { createTime?: Timestamp; updateTime?: Timestamp }
type Resource = Message & { uid: string; name?: string } & Times

/** `grants` are those that the caller holds at the parent. `uid` and `time` become the resource's uid and create time. */
export type CreateContext = { grants: WriteGrants; uid: string; time: number }

export type CreateOptions<D extends DescMessage, X extends ExtraColumns> = BeforeCreate<D, X> & {
  /** By default, a new uid below the parent. */
  uid?: string
  /** The error message if a unique constraint is violated, such as that on the name. */
  conflict?(draft: MessageShape<D>): string
  /** Adds fields to the reply that are not stored in the resource. */
  complete?(reply: Reply): Reply
}

/**
 * Checks rules that the contract cannot express, and sets the fields that only the service sets. Returns the values
 * of the extra columns, if the kind has any.
 */
type BeforeCreate<D extends DescMessage, X extends ExtraColumns> = keyof X extends never
  ? { beforeCreate?(draft: MessageShape<D>, context: CreateContext): HookResult<void> }
  : { beforeCreate(draft: MessageShape<D>, context: CreateContext): HookResult<ExtraValues<X>> }

/** Hooks that read the store are generators. */
export type HookResult<T> = T | Work<T>

export function* resultOf<T>(result: HookResult<T>): Work<T> {
  return isWork(result) ? yield* result : result
}

const isWork = <T>(result: HookResult<T>): result is Work<T> =>
  typeof result === 'object' && result !== null && Symbol.iterator in result

/** Creates a resource in the parent that the call names. */
export function createResource<D extends DescMessage, X extends ExtraColumns>(
  deps: Dependencies,
  kind: Kind<D, X>,
  call: Call,
  options: CreateOptions<D, X> = {} as CreateOptions<D, X>, // an insert throws if extra columns are missing
): Promise<Reply> {
  return createOnce(deps, call, (grants) => createAdmitted(deps, kind, call, options, grants))
}

function* createAdmitted<D extends DescMessage, X extends ExtraColumns>(
  { now, random }: Dependencies,
  kind: Kind<D, X>,
  call: Call,
  { uid: givenUid, beforeCreate, conflict, complete }: CreateOptions<D, X>,
  grants: WriteGrants,
): Work<Reply> {
  const parent = call.demand.scope
  const draft = draftOf(kind.desc, resourceIn(kind, call))
  const time = now()
  const uid = givenUid ?? newChildUid(parent, time, random)
  const columns = yield* resultOf(beforeCreate?.(draft, { grants, uid, time }))
  const fields = { uid, now: time, columns } as NewEntry<X> // `BeforeCreate` returns the columns
  const written = yield* createIn(grants, parent, kind, draft, fields, conflict?.(draft))
  const reply = yield* writtenReply(kind, written, call.form, grants)
  return complete ? complete(reply) : reply
}

/** Writes a new resource, and returns its row. A missing parent and a conflict become errors for the caller. */
export function* createIn<D extends DescMessage, X extends ExtraColumns>(
  access: WriteAccess,
  parent: string,
  kind: Kind<D, X>,
  draft: MessageShape<D>,
  entry: NewEntry<X>,
  conflict?: string,
): Work<Entry> {
  try {
    return yield* createEntry(access, kind, draft, entry)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    if (error.kind === 'foreign-key') throw notFound(kind.parentType, parent)
    if (error.kind === 'unique' && conflict) throw alreadyExists(conflict)
    throw error
  }
}

export type NewEntry<X extends ExtraColumns> = { uid: string; now: number } & (keyof X extends never
  ? { columns?: undefined }
  : { columns: ExtraValues<X> })

/** Writes a new resource, and returns its row. Violated constraints throw a StoreError. */
export function* createEntry<D extends DescMessage, X extends ExtraColumns>(
  access: WriteAccess,
  kind: Kind<D, X>,
  draft: MessageShape<D>,
  entry: NewEntry<X>,
): Work<Entry> {
  const row = newEntryOf(kind, draft, entry)
  yield* insertWithinLimits(access, kind.table, [row], lineage(parentOf(entry.uid)))
  return row
}

/** The row of a new resource. Sets the uid and the times in `draft`. */
export function newEntryOf<D extends DescMessage, X extends ExtraColumns>(
  kind: Kind<D, X>,
  draft: MessageShape<D>,
  { uid, now, columns }: NewEntry<X>,
): Entry {
  const resource = draft as unknown as Resource
  resource.uid = uid
  stamp(kind.desc, resource, now)
  const fields = { uid, name: resource.name ?? '', createTime: now, updateTime: now }
  return entryOf(kind, draft, fields, columns)
}

function stamp(desc: DescMessage, resource: Times, now: number): void {
  for (const { localName } of desc.fields) {
    if (localName === 'createTime') resource.createTime = timestampFromMs(now)
    if (localName === 'updateTime') resource.updateTime = timestampFromMs(now)
  }
}

/** The part of a sent resource that a caller may set. */
export function draftOf<D extends DescMessage>(desc: D, sent: MessageShape<D>): MessageShape<D> {
  const draft = clone(desc, sent)
  clearUnsettable(reflect(desc, draft))
  return draft
}

function clearUnsettable(message: ReflectMessage): void {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue
    const isForOperator = rulesOf(field).operatorOnly
    if (isForOperator && message.get(field)) throw operatorOnly(field.name, '')
    if (isForOperator || isOutputOnly(field)) message.clear(field)
    else if (isBranch(field)) clearUnsettable(message.get(field))
  }
}
