import type { DescMessage, Message, MessageInitShape } from '@bufbuild/protobuf'
import { toBinary } from '@bufbuild/protobuf'
import type { UIDPFilter } from '@stemma/api/gen/platform/common/uidp_pb.ts'
import { parseOrderBy } from '../aip/order-by.ts'
import type { Cursor, PageSeals } from '../aip/page-token.ts'
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
import { formOf } from './kind.ts'
import { listReply } from './reply.ts'

const defaultPageSize = 50
const largestPageSize = 200

export type ListRequest = Message & {
  uidp?: UIDPFilter | undefined
  pageSize: number
  pageToken: string
  orderBy: string
  skip: number
}

export type Listing = {
  /** The conditions of the kind's own fields, beside the place in the tree. */
  filters?: Sql[]
  /** Only what lies directly in this group, if it is named. */
  group?: string
  /** Looks further, among what lies in these organizations. */
  find?(roots: readonly string[]): Work<Found>
  /** What the caller may see although it lies in no group of theirs. */
  shared?(grants: Grants, reached: readonly Region[]): Region[]
}

/** Which they are, if that is known; and what else must hold. */
export type Found = { only?: string[]; filters: Sql[] }

export const listResources = (
  { store, pages }: Dependencies,
  kind: Kind<DescMessage>,
  call: Call<ListRequest>,
  listing: Listing = {},
): MaybePromise<Reply> => store.read(() => readList(pages, kind, call, listing))

/** A generator of its own, since one that is made in a function is made anew by each call of it. */
function* readList(
  pages: PageSeals,
  kind: Kind<DescMessage>,
  call: Call<ListRequest>,
  listing: Listing,
): Work<Reply> {
  const { request, method } = call
  const grants = yield* admitToRead(call.demand)
  const order = parseOrderBy(request.orderBy, kind.sortable, kind.defaultOrder)
  const query = { method: method.name, fingerprint: fingerprintOf([filterOf(call), order]) }
  const after = pages.open(query, request.pageToken)
  const size = Math.min(request.pageSize || defaultPageSize, largestPageSize)
  const { regions, filters } = yield* select(call, grants, listing)
  const form = formOf(kind, call.form)
  const page = yield* readPage(kind.table, {
    ...{ regions, filters, order, after, size, form },
    skip: request.skip,
    scansInOrder: listing.find !== undefined,
  })
  const nextPageToken = page.next ? pages.seal(query, page.next as Cursor) : '' // no key is null
  const rest = { nextPageToken, totalCount: BigInt(page.total), skipped: request.skip }
  return listReply(kind, method.desc.output, page.rows, rest as MessageInitShape<DescMessage>)
}

/** What a list shows to somebody: where it lies, and what else holds for it. */
export function* select(
  { request, demand }: Call<ListRequest>,
  grants: Grants,
  { filters = [], group = '', shared, find }: Listing,
): Work<{ regions: Region[]; filters: Sql[] }> {
  const reached = grantedRegions(grants, demand.capabilities)
  const more = shared?.(grants, reached) ?? []
  const visible = more.length === 0 ? reached : disjoint([...reached, ...more])
  const regions = askedFor(visible, request.uidp, group)
  if (!find) return { regions, filters }
  const found = yield* find(rootsOf(regions))
  return {
    regions: found.only ? intersectAll(regions, disjoint(points(found.only))) : regions,
    filters: [...filters, ...found.filters],
  }
}

/** The organizations that regions lie in. */
const rootsOf = (regions: readonly Region[]) =>
  [...new Set(regions.map(({ uid }) => rootOf(uid)))].filter((root) => root !== '')

/** A condition on a column, where the request names a value for it. */
export const equalTo = (column: Sql, value: string): Sql[] =>
  value === '' ? [] : [sql`${column} = ${value}`]

/** All of the request that decides which rows match, in whatever order it was said. */
function filterOf({ request, method }: Call<ListRequest>): string {
  const only = { ...request, pageSize: 0, pageToken: '', orderBy: '', skip: 0 }
  return Buffer.from(toBinary(method.desc.input, only)).toString('latin1')
}

/** What the caller may see, as far as the filter asks for it. */
function askedFor(visible: Region[], filter: UIDPFilter | undefined, group: string): Region[] {
  let regions = visible
  const narrow = (asked: Region[]) => {
    regions = intersectAll(regions, disjoint(asked))
  }
  if (group !== '') narrow([{ kind: 'children', uid: group }])
  if (!filter) return regions
  const { ancestorsOf, descendantsOf, childrenOf, inRoot, ids } = filter
  if (descendantsOf) narrow([{ kind: 'below', uid: descendantsOf }])
  if (childrenOf) narrow([{ kind: 'children', uid: childrenOf }])
  if (ancestorsOf) narrow(points(lineage(parentOf(ancestorsOf))))
  if (inRoot) narrow([{ kind: 'children', uid: '' }])
  if (ids.length > 0) narrow(points(ids))
  return regions
}

export const points = (uids: string[]) => uids.map((uid): Region => ({ kind: 'point', uid }))
