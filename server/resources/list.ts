import type { DescMessage, Message, MessageInitShape } from '@bufbuild/protobuf'
import { toBinary } from '@bufbuild/protobuf'
import type { UIDPFilter } from '@stemma/api/gen/platform/common/uidp_pb.ts'
import { parseOrderBy } from '../aip/order-by.ts'
import type { Cursor } from '../aip/page-token.ts'
import { fingerprintOf } from '../aip/page-token.ts'
import type { Region } from '../aip/region.ts'
import { disjoint, intersectAll } from '../aip/region.ts'
import { lineage, parentOf, rootOf } from '../aip/uid.ts'
import { admitToRead } from '../policy/admit.ts'
import type { Grants } from '../policy/grants.ts'
import { grantedRegions } from '../policy/grants.ts'
import type { Call } from '../rpc/call.ts'
import { readPage } from '../store/list/read-page.ts'
import type { Sql } from '../store/sql.ts'
import { sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import type { Reply } from '../wire/reply.ts'
import type { Dependencies } from './dependencies.ts'
import type { Kind } from './kind.ts'
import { redactionFor } from './kind.ts'
import { listReply } from './reply.ts'

const defaultPageSize = 50
const maxPageSize = 200

export const pageSizeOf = ({ pageSize }: { pageSize: number }): number =>
  Math.min(pageSize || defaultPageSize, maxPageSize)

export type ListRequest = Message & {
  uidp?: UIDPFilter | undefined
  pageSize: number
  pageToken: string
  orderBy: string
  skip: number
}

export type ListOptions = {
  /** Conditions on the kind's own fields. */
  filters?: Sql[]
  /** Lists only the children of this resource; '' for no restriction. */
  parent?: string
  /** Searches the resources of these organizations. Throws a StoreError `expensive` if it would read more than `maxRows`. */
  search?(organizations: readonly string[], maxRows: number | undefined): Work<SearchResult>
  /** The call that the client made, if it is not this one. Page tokens belong to that call. */
  outer?: Pick<Call<ListRequest>, 'method' | 'request'>
  /** Regions that the caller may read in addition to those that are `granted`. */
  alsoVisible?(grants: Grants, granted: readonly Region[]): Region[]
}

/** A resource matches if it fulfils all `filters`. `uids`, if set, contains all matches and maybe other resources. */
export type SearchResult = { filters: Sql[]; uids?: string[] }

export const listResources = (
  { store, pageSeals, maxListRows }: Dependencies,
  kind: Kind<DescMessage>,
  call: Call<ListRequest>,
  options: ListOptions = {},
): MaybePromise<Reply> => store.read(() => readList({ pageSeals, maxListRows }, kind, call, options))

/** At module level: a generator function inside `listResources` would be created again for every call. */
function* readList(
  { pageSeals, maxListRows }: Pick<Dependencies, 'pageSeals' | 'maxListRows'>,
  kind: Kind<DescMessage>,
  call: Call<ListRequest>,
  options: ListOptions,
): Work<Reply> {
  const { request, method } = call
  const grants = yield* admitToRead(call.demand)
  const order = parseOrderBy(request.orderBy, kind.sortable, kind.defaultOrder)
  const outer = options.outer ?? call
  const query = { method: outer.method.name, fingerprint: fingerprintOf([filterOf(outer), order]) }
  const after = pageSeals.open(query, request.pageToken)
  const size = pageSizeOf(request)
  const { regions, filters } = yield* selectionOf(call, grants, options, maxListRows)
  const redaction = redactionFor(kind, grants)
  const page = yield* readPage(kind.table, {
    ...{ regions, filters, order, after, size },
    form: kind.forms[redaction ? 'bytes' : call.form],
    skip: request.skip,
    scansInOrder: options.search !== undefined,
    ...(kind.table.expires && { liveAt: grants.time }),
    ...(maxListRows !== undefined && { maxRows: maxListRows }),
  })
  const nextPageToken = page.next ? pageSeals.seal(query, page.next as Cursor) : '' // sort columns are never null
  const otherFields = { nextPageToken, totalCount: BigInt(page.total), skipped: request.skip }
  const rows = redaction
    ? (page.rows as Uint8Array[]).map((row) => redaction.apply(grants, row)) // the form is bytes
    : page.rows
  // Every list response has these fields.
  return listReply(kind, method.desc.output, rows, otherFields as MessageInitShape<DescMessage>)
}

/** The regions and conditions of the resources that a list contains. */
export function* selectionOf(
  { request, demand }: Call<ListRequest>,
  grants: Grants,
  { filters = [], parent = '', alsoVisible, search }: ListOptions,
  maxRows: number | undefined,
): Work<{ regions: Region[]; filters: Sql[] }> {
  const granted = grantedRegions(grants, demand.capabilities)
  const others = alsoVisible?.(grants, granted) ?? []
  const visible = others.length === 0 ? granted : disjoint([...granted, ...others])
  const regions = narrowed(visible, request.uidp, parent)
  if (!search) return { regions, filters }
  const result = yield* search(organizationsOf(regions), maxRows)
  return {
    regions: result.uids ? intersectAll(regions, disjoint(pointRegions(result.uids))) : regions,
    filters: [...filters, ...result.filters],
  }
}

const organizationsOf = (regions: readonly Region[]) =>
  [...new Set(regions.map(({ uid }) => rootOf(uid)))].filter((root) => root !== '')

/** A condition on a column, if the request has a value for it. */
export const equalTo = (column: Sql, value: string): Sql[] =>
  value === '' ? [] : [sql`${column} = ${value}`]

/** The part of a request that decides which rows match, in a canonical encoding. */
function filterOf({ request, method }: Pick<Call<ListRequest>, 'method' | 'request'>): string {
  const filter = { ...request, pageSize: 0, pageToken: '', orderBy: '', skip: 0 }
  return Buffer.from(toBinary(method.desc.input, filter)).toString('latin1')
}

/** The regions in which the caller has the capabilities, narrowed by the filter of the request. */
export const visibleRegions = (
  grants: Grants,
  capabilities: readonly number[],
  filter: UIDPFilter | undefined,
): Region[] => narrowed(grantedRegions(grants, capabilities), filter, '')

/** The regions that the caller may read, narrowed by the request's filter and by the parent. */
function narrowed(visible: Region[], filter: UIDPFilter | undefined, parent: string): Region[] {
  let regions = visible
  const narrow = (wanted: Region[]) => {
    regions = intersectAll(regions, disjoint(wanted))
  }
  if (parent !== '') narrow([{ kind: 'children', uid: parent }])
  if (!filter) return regions
  const { ancestorsOf, descendantsOf, childrenOf, inRoot, ids } = filter
  if (descendantsOf) narrow([{ kind: 'below', uid: descendantsOf }])
  if (childrenOf) narrow([{ kind: 'children', uid: childrenOf }])
  if (ancestorsOf) narrow(pointRegions(lineage(parentOf(ancestorsOf))))
  if (inRoot) narrow([{ kind: 'children', uid: '' }])
  if (ids.length > 0) narrow(pointRegions(ids))
  return regions
}

export const pointRegions = (uids: string[]) => uids.map((uid): Region => ({ kind: 'point', uid }))
