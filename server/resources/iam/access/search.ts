// The searches of AuthZEN: at which resources an identity has access, and which identities have access at a resource.
import { create } from '@bufbuild/protobuf'
import type {
  ListIdentitiesRequest,
  ListResourcesRequest,
} from '@stemma/api/gen/platform/iam/search/search_pb.ts'
import {
  AccessSearchService,
  ListIdentitiesResponseSchema,
  ListResourcesResponseSchema,
} from '@stemma/api/gen/platform/iam/search/search_pb.ts'
import { fingerprintOf } from '../../../aip/page-token.ts'
import type { Region } from '../../../aip/region.ts'
import { intersectAll } from '../../../aip/region.ts'
import { admitToRead } from '../../../policy/admit.ts'
import { grantedRegions } from '../../../policy/grants.ts'
import { readGrantsOf } from '../../../policy/read-grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { readPage } from '../../../store/list/read-page.ts'
import { raw } from '../../../store/sql.ts'
import type { Table } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { pageSizeOf } from '../../list.ts'
import { defineService } from '../../resource.ts'
import { askCapabilities } from './answer.ts'
import { readHolders } from './holders.ts'
import { needOf, searchNeedOf } from './need.ts'
import type { SearchedKind } from './searched-kinds.ts'

/** `kinds` by the full name of their message. */
export const accessSearchService = (kinds: ReadonlyMap<string, SearchedKind>) =>
  defineService({
    service: AccessSearchService,
    methods: (deps: Dependencies) => ({
      listResources: (call: Call<ListResourcesRequest>) =>
        deps.store.read(() => listResources(deps, kinds, call)),
      listIdentities: (call: Call<ListIdentitiesRequest>) =>
        deps.store.read(() => listIdentities(deps, call)),
    }),
  })

type PageDependencies = Pick<Dependencies, 'pageSeals' | 'maxListRows'>

function* listResources(
  { pageSeals, maxListRows }: PageDependencies,
  kinds: ReadonlyMap<string, SearchedKind>,
  { request, demand, method }: Call<ListResourcesRequest>,
): Work<Reply> {
  const grants = yield* admitToRead(demand)
  const { identity, capability, method: asked, kind: kindName } = request
  const query = { method: method.name, fingerprint: fingerprintOf([identity, capability, asked, kindName]) }
  const after = pageSeals.open(query, request.pageToken)
  const searched = kinds.get(kindName)
  if (!searched) return messageReply(ListResourcesResponseSchema, create(ListResourcesResponseSchema))
  const { kind, listCapabilities } = searched
  const isSelf = identity === demand.caller.identity
  const list = isSelf
    ? grants.list
    : yield* readGrantsOf(identity, grants.time, undefined, demand.parseGrants)
  const { capabilities, isAbove } = searchNeedOf(request)
  const held = grantedRegions({ ...grants, list }, capabilities)
  // Without this restriction, a search would return resources that the caller may not see.
  const visible = grantedRegions(
    grants,
    isSelf ? listCapabilities : [...askCapabilities, ...listCapabilities],
  )
  const page = yield* readPage(uidsOf(kind.table), {
    regions: intersectAll(isAbove ? held.map(below) : held, visible),
    ...{ filters: [], order: byUid, after, skip: 0, size: pageSizeOf(request), form: kind.forms.bytes },
    ...(kind.table.expires && { liveAt: grants.time }),
    ...(maxListRows !== undefined && { maxRows: maxListRows }),
  })
  const response = create(ListResourcesResponseSchema, {
    uids: page.rows as string[], // see `uidsOf`
    nextPageToken: page.next ? pageSeals.seal(query, page.next as string[]) : '', // the uid
    totalCount: BigInt(page.total),
  })
  return messageReply(ListResourcesResponseSchema, response)
}

const byUid = [{ column: 'uid', descending: false }]

const below = ({ uid }: Region): Region => ({ kind: 'below', uid })

/** The table with rows that are rendered as their uid alone. */
const uidsOf = (table: Table): Table => ({ ...table, rendered: () => raw(`${table.name}.uid`) })

function* listIdentities(
  { pageSeals, maxListRows }: PageDependencies,
  { request, demand, method }: Call<ListIdentitiesRequest>,
): Work<Reply> {
  const { time } = yield* admitToRead(demand)
  const { resource, capability, method: asked } = request
  const query = { method: method.name, fingerprint: fingerprintOf([resource, capability, asked]) }
  const [after = ''] = (pageSeals.open(query, request.pageToken) ?? []) as [string?] // the uid
  const need = needOf({ capability, method: asked, resource }, undefined)
  const { bits, uid } = need.kind === 'at' ? need : noNeed
  const { uids, next, total } = yield* readHolders({
    uid,
    bits,
    time,
    after,
    size: pageSizeOf(request),
    maxRows: maxListRows,
  })
  const response = create(ListIdentitiesResponseSchema, {
    uids,
    nextPageToken: next ? pageSeals.seal(query, [next]) : '',
    totalCount: BigInt(total),
  })
  return messageReply(ListIdentitiesResponseSchema, response)
}

const noNeed = { bits: [], uid: '' }
