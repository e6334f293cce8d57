// The list of acceptances. A group and the groups above it have few, so all are read and a page is cut out.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type { ListTermsAcceptancesRequest } from '@stemma/api/gen/platform/iam/v2beta1/terms_pb.ts'
import { ListTermsAcceptancesResponseSchema } from '@stemma/api/gen/platform/iam/v2beta1/terms_pb.ts'
import { notFound } from '../../../aip/errors.ts'
import type { OrderTerm } from '../../../aip/order-by.ts'
import { parseOrderBy } from '../../../aip/order-by.ts'
import type { Cursor } from '../../../aip/page-token.ts'
import { fingerprintOf } from '../../../aip/page-token.ts'
import { lineage } from '../../../aip/uid.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all, first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { pageSizeOf } from '../../list.ts'

/**
 * The fields by which a list can be ordered have the names that they have in `order_by`. `uid`
 * contains both parts of the key; `parseOrderBy` adds it to the end of every order.
 */
type Acceptance = { uid: string; org_uid: string; doc_id: string; create_time: number; acceptedBy: string }

const sortable = new Map([
  ['org_uid', 'org_uid'],
  ['doc_id', 'doc_id'],
  ['create_time', 'create_time'],
  ['created_at', 'create_time'],
])
const defaultOrder: OrderTerm[] = [
  { column: 'org_uid', descending: false },
  { column: 'doc_id', descending: false },
]

export function* listAcceptances(
  { pageSeals }: Pick<Dependencies, 'pageSeals'>,
  { demand, method, request }: Call<ListTermsAcceptancesRequest>,
): Work<Reply> {
  yield* admitToRead(demand)
  const { group, skip } = request
  const order = parseOrderBy(request.orderBy, sortable, defaultOrder)
  const query = { method: method.name, fingerprint: fingerprintOf([group, order]) }
  const after = pageSeals.open(query, request.pageToken)
  const acceptances = yield* readAcceptances(group)
  acceptances.sort((a, b) => compare(order, cursorOf(order, a), cursorOf(order, b)))
  const start = after ? acceptances.findIndex((row) => compare(order, cursorOf(order, row), after) > 0) : 0
  const rest = start < 0 ? [] : acceptances.slice(start + skip)
  const page = rest.slice(0, pageSizeOf(request))
  const last = page.at(-1)
  const nextPageToken = last && rest.length > page.length ? pageSeals.seal(query, cursorOf(order, last)) : ''
  return messageReply(
    ListTermsAcceptancesResponseSchema,
    create(ListTermsAcceptancesResponseSchema, {
      ...{ nextPageToken, totalCount: BigInt(acceptances.length), skipped: skip },
      termsAcceptances: page.map(({ doc_id, org_uid, create_time, acceptedBy }) => ({
        ...{ docId: doc_id, orgUid: org_uid, acceptedBy },
        createTime: timestampFromMs(create_time),
      })),
    }),
  )
}

function* readAcceptances(group: string): Work<Acceptance[]> {
  const row = yield* first(sql`select uid from groups where uid = ${group}`)
  if (!row) throw notFound(GroupSchema.typeName, group)
  const rows = yield* all(sql`select place, document, accepted_by, create_time from terms_acceptances
    where place in ${among(lineage(group))}`)
  return (rows as [string, string, string, number][]).map(([place, document, acceptedBy, time]) => ({
    ...{ uid: `${place} ${document}`, org_uid: place, doc_id: document, create_time: time, acceptedBy },
  }))
}

const cursorOf = (order: OrderTerm[], row: Acceptance): Cursor =>
  order.map(({ column }) => row[column as keyof Acceptance]) // `sortable` has only such columns

function compare(order: OrderTerm[], a: Cursor, b: Cursor): number {
  for (const [at, { descending }] of order.entries()) {
    const [left = '', right = ''] = [a[at], b[at]]
    if (left !== right) return left < right !== descending ? -1 : 1
  }
  return 0
}
