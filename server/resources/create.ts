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
import { admit } from '../policy/admit.ts'
import type { Grants } from '../policy/grants.ts'
import type { Call } from '../rpc/call.ts'
import type { Value } from '../store/sql.ts'
import { StoreError } from '../store/store-error.ts'
import { insertEntry } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import type { Reply } from '../wire/reply.ts'
import type { Dependencies } from './dependencies.ts'
import type { Kind } from './kind.ts'
import { entryOf } from './kind.ts'
import { readReply } from './reply.ts'
import { resourceIn } from './request-resource.ts'

export type Times = { createTime?: Timestamp; updateTime?: Timestamp }
type Resource = Message & { uid: string; name?: string } & Times

/**
 * What is done to a resource before it is written. It answers the values of the table's own columns where the
 * resource does not tell them.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: most only check
export type Preparation = Work<Value[] | void> | Value[] | void

/** The values that a preparation answers, if any. */
export function* prepared(preparation: Preparation): Work<Value[] | undefined> {
  if (!preparation || Array.isArray(preparation)) return preparation || undefined
  return (yield* preparation) || undefined
}

/** What the caller holds in the call's group, and the time that the resource will bear. */
export type Moment = { grants: Grants; time: number }

export type Creation<D extends DescMessage> = {
  /** Checks what the contract cannot say, and sets what only the service sets. */
  prepare?(draft: MessageShape<D>, moment: Moment): Preparation
  /** A uid of its own below the parent, unless the kind says otherwise. */
  uid?: string
  /** What to say if there is one like it already. */
  conflict?(draft: MessageShape<D>): string
}

/** A new resource in the group that the call names. */
export function createResource<D extends DescMessage>(
  { store, now, random }: Dependencies,
  kind: Kind<D>,
  call: Call,
  { prepare, uid, conflict }: Creation<D> = {},
): Promise<Reply> {
  return store.write(function* () {
    const grants = yield* admit(call.demand, true)
    const parent = call.demand.scope
    const draft = draftOf(kind.desc, resourceIn(kind, call))
    const time = now()
    const columns = yield* prepared(prepare?.(draft, { grants, time }))
    const created = uid ?? newChildUid(parent, time, random)
    yield* createIn(
      parent,
      kind,
      draft,
      { uid: created, now: time, ...(columns ? { columns } : {}) },
      conflict?.(draft),
    )
    return yield* readReply(kind, created, call.form)
  }, call.deadline)
}

/** Writes a new resource, and says it in words if what it is to lie in is not there, or another is in its way. */
export function* createIn<D extends DescMessage>(
  parent: string,
  kind: Kind<D>,
  draft: MessageShape<D>,
  facts: NewFacts,
  conflict?: string,
): Work<void> {
  try {
    yield* createEntry(kind, draft, facts)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    if (error.kind === 'foreign-key') throw notFound(kind.liesIn.typeName, parent)
    if (error.kind === 'unique' && conflict) throw alreadyExists(conflict)
    throw error
  }
}

/** `columns` are the values of the table's own columns, where the resource does not tell them. */
export type NewFacts = { uid: string; now: number; columns?: Value[] }

/** Writes a new resource under the uid it was given. */
export function* createEntry<D extends DescMessage>(
  kind: Kind<D>,
  draft: MessageShape<D>,
  { uid, now, columns }: NewFacts,
): Work<void> {
  const resource = draft as unknown as Resource
  resource.uid = uid
  stamp(kind.desc, resource, now)
  const facts = { uid, name: resource.name ?? '', createTime: now, updateTime: now }
  yield* insertEntry(kind.table, entryOf(kind, draft, facts, columns), lineage(parentOf(uid)))
}

function stamp(desc: DescMessage, resource: Times, now: number): void {
  for (const { localName } of desc.fields) {
    if (localName === 'createTime') resource.createTime = timestampFromMs(now)
    if (localName === 'updateTime') resource.updateTime = timestampFromMs(now)
  }
}

/** A resource as a caller may create it: without what only the service sets. */
export function draftOf<D extends DescMessage>(desc: D, sent: MessageShape<D>): MessageShape<D> {
  const draft = clone(desc, sent)
  clearUnsettable(reflect(desc, draft))
  return draft
}

function clearUnsettable(message: ReflectMessage): void {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue
    const isOperators = rulesOf(field).operatorOnly
    if (isOperators && message.get(field)) throw operatorOnly(field.name, '')
    if (isOperators || isOutputOnly(field)) message.clear(field)
    else if (isBranch(field)) clearUnsettable(message.get(field))
  }
}
