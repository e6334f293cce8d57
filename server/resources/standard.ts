// List, Get, Create, Update and Delete as every kind does them. Each is one piece of work for the store and
// starts by admitting the caller; what is particular to a kind goes in between.
import type { DescField, DescMessage, Message, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { clone, equals } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { FieldMask, Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { UIDPFilter } from '@stemma/api/gen/platform/common/uidp_pb.ts'
import { isOutputOnly, rulesOf } from '@stemma/api/method.ts'
import { invalidArgument, notFound, operatorOnly } from '../aip/errors.ts'
import { applyMask, parseMask, populatedPaths } from '../aip/field-mask.ts'
import { isBranch } from '../aip/field-path.ts'
import { parseOrderBy } from '../aip/order-by.ts'
import type { PageKeys } from '../aip/page-token.ts'
import { fingerprintOf, openPageToken, sealPageToken } from '../aip/page-token.ts'
import type { Reply } from '../aip/passage.ts'
import type { RandomBytes } from '../aip/random.ts'
import type { Region } from '../aip/region.ts'
import { disjoint, intersectAll } from '../aip/region.ts'
import { lineage, parentOf } from '../aip/uid.ts'
import { violationsOf } from '../aip/validate.ts'
import { admit, admitToRow } from '../policy/admit.ts'
import { reach } from '../policy/grants.ts'
import type { Call } from '../rpc/call.ts'
import type { Store } from '../store/db.ts'
import { readPage } from '../store/list.ts'
import type { Sql } from '../store/sql.ts'
import { deleteEntry, insertEntry, selectForUpdate, storedOf, updateEntry } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
import type { Kind } from './kind.ts'
import { entryOf, formOf, messageOf } from './kind.ts'
import { listReply, rowReply, storedReply } from './reply.ts'

/** What every resource is given. */
export type Surroundings = {
  store: Store
  pageKeys: PageKeys
  now(): number
  random: RandomBytes
}

type Times = { createTime?: Timestamp; updateTime?: Timestamp }
type Resource = Message & { uid: string; name?: string } & Times

const defaultPageSize = 50
const largestPageSize = 200

export async function getResource(store: Store, kind: Kind<DescMessage>, call: Call): Promise<Reply> {
  const { statement, open } = admitToRow(call.demand, kind.table, formOf(kind, call.form))
  const row = open(await store.query(statement))
  if (!row) throw notFound(kind.desc.typeName, call.demand.scope)
  return rowReply(kind, row)
}

export type ListRequest = Message & {
  uidp?: UIDPFilter | undefined
  pageSize: number
  pageToken: string
  orderBy: string
  skip: number
}

/** `filters` are the conditions of the kind's own fields, beside the place in the tree. */
export async function listResources(
  { store, pageKeys, now, random }: Surroundings,
  kind: Kind<DescMessage>,
  call: Call<ListRequest>,
  filters: Sql[],
): Promise<Reply> {
  const { request, method } = call
  return store.read(function* () {
    const grants = yield* admit(call.demand, false)
    const order = parseOrderBy(request.orderBy, kind.sortable, kind.defaultOrder)
    const query = { method: method.name, fingerprint: fingerprintOf([filterOf(call), order]) }
    const after = openPageToken(pageKeys, query, request.pageToken, now())
    const size = Math.min(request.pageSize || defaultPageSize, largestPageSize)
    const regions = askedFor(reach(grants, call.demand.capabilities), request.uidp)
    const form = formOf(kind, call.form)
    const page = yield* readPage(kind.table, {
      regions,
      filters,
      order,
      after,
      skip: request.skip,
      size,
      form,
    })
    const nextPageToken = page.next
      ? sealPageToken(pageKeys, query, page.next as (string | number)[], now(), random)
      : ''
    const rest = { nextPageToken, totalCount: BigInt(page.total), skipped: request.skip }
    return listReply(kind, method.desc.output, page.rows, rest as MessageInitShape<DescMessage>)
  })
}

/** All of the request that decides which rows match. */
function filterOf({ request }: Call<ListRequest>): string {
  const only = { ...request, pageSize: 0, pageToken: '', orderBy: '', skip: 0 }
  return JSON.stringify(only, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

/** What the caller may see, as far as the filter asks for it. */
function askedFor(visible: Region[], filter: UIDPFilter | undefined): Region[] {
  if (!filter) return visible
  const { ancestorsOf, descendantsOf, childrenOf, inRoot, ids } = filter
  let regions = visible
  const narrow = (asked: Region[]) => {
    regions = intersectAll(regions, disjoint(asked))
  }
  if (descendantsOf) narrow([{ kind: 'below', uid: descendantsOf }])
  if (childrenOf) narrow([{ kind: 'children', uid: childrenOf }])
  if (ancestorsOf) narrow(points(lineage(parentOf(ancestorsOf))))
  if (inRoot) narrow([{ kind: 'children', uid: '' }])
  if (ids.length > 0) narrow(points(ids))
  return regions
}

const points = (uids: string[]) => uids.map((uid): Region => ({ kind: 'point', uid }))

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

/** Writes a new resource under the uid it was given. */
export function* createEntry<D extends DescMessage>(
  kind: Kind<D>,
  draft: MessageShape<D>,
  uid: string,
  now: number,
): Work<Reply> {
  const resource = draft as unknown as Resource
  resource.uid = uid
  stamp(kind.desc, resource, now)
  const entry = entryOf(kind, draft, { uid, name: resource.name ?? '', createTime: now, updateTime: now })
  yield* insertEntry(kind.table, entry, lineage(parentOf(uid)))
  return storedReply(kind, entry)
}

function stamp(desc: DescMessage, resource: Times, now: number): void {
  for (const { localName } of desc.fields) {
    if (localName === 'createTime') resource.createTime = timestampFromMs(now)
    if (localName === 'updateTime') resource.updateTime = timestampFromMs(now)
  }
}

export type UpdateRequest = Message & { updateMask?: FieldMask | undefined }

/** Reads, merges, checks and writes in one piece, so that no change of somebody else is lost. */
export function updateResource<D extends DescMessage>(
  surroundings: Surroundings,
  kind: Kind<D>,
  call: Call<UpdateRequest>,
  sent: MessageShape<D>,
): Promise<Reply> {
  return surroundings.store.write(function* () {
    yield* admit(call.demand, true)
    const uid = call.demand.scope
    const row = yield* first(selectForUpdate(kind.table, uid))
    if (!row) throw notFound(kind.desc.typeName, uid)
    const stored = storedOf(row)
    const current = messageOf(kind, stored)
    const mask = maskOf(kind.desc, sent, call.request.updateMask)
    const { merged, guarded } = applyMask(kind.desc, current, sent, mask)
    const [forbidden] = guarded
    if (forbidden) throw operatorOnly(forbidden.name, uid)
    const [fault, ...others] = violationsOf(kind.desc, merged)
    if (fault) throw invalidArgument(fault, ...others)
    if (equals(kind.desc, current, merged as MessageShape<D>)) return storedReply(kind, stored)
    const resource = merged as Resource
    const createTime = resource.createTime ? timestampMs(resource.createTime) : 0
    const updateTime = nextUpdateTime(resource, surroundings.now())
    if (resource.updateTime) resource.updateTime = timestampFromMs(updateTime)
    const entry = entryOf(kind, merged as MessageShape<D>, {
      uid,
      name: resource.name ?? '',
      createTime,
      updateTime,
    })
    yield* updateEntry(kind.table, entry)
    return storedReply(kind, entry)
  }, call.deadline)
}

/** Never before the last change, whatever the clock says. */
const nextUpdateTime = ({ updateTime }: Times, now: number) =>
  Math.max(now, updateTime ? timestampMs(updateTime) : 0)

function maskOf(desc: DescMessage, sent: Message, mask: FieldMask | undefined): DescField[][] {
  if (mask && mask.paths.length > 0) return parseMask(desc, mask.paths)
  return populatedPaths(reflect(desc, sent))
}

/** Removes a row that must be there. */
export function* removeEntry(kind: Kind<DescMessage>, uid: string): Work<void> {
  const wasThere = yield* deleteEntry(kind.table, uid, lineage(parentOf(uid)))
  if (!wasThere) throw notFound(kind.desc.typeName, uid)
}
