// The v1 list of advisories. Unlike other v1 lists it has pages.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { AdvisoryFilter } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import { AdvisoriesListSchema, OrderBy } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import type { ListAdvisoriesRequestSchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import type { Call } from '../../../rpc/call.ts'
import { convertReply } from '../convert-reply.ts'
import type { V1Dependencies } from '../dependencies.ts'
import type { FieldRename } from '../error-fields.ts'
import { renameErrorFields } from '../error-fields.ts'
import { uidpFieldRenames, uidpFilter } from '../uidp-filter.ts'
import { advisoryToV1 } from './conversion.ts'

const orders = new Map<OrderBy, string>([
  [OrderBy.ORDER_BY_UNSPECIFIED, ''],
  [OrderBy.ID_ASC, 'uid'],
  [OrderBy.ID_DESC, 'uid desc'],
  [OrderBy.CREATED_AT_ASC, 'create_time'],
  [OrderBy.CREATED_AT_DESC, 'create_time desc'],
  [OrderBy.UPDATED_AT_ASC, 'update_time'],
  [OrderBy.UPDATED_AT_DESC, 'update_time desc'],
  // Lists contain no withdrawn advisories, so no advisory in a list has a delete time to order by.
  [OrderBy.DELETED_AT_ASC, 'uid'],
  [OrderBy.DELETED_AT_DESC, 'uid desc'],
])

const renamedFields: FieldRename[] = [
  [/^(artifact|component)_(name|type|architecture|location)s\b/, '$1_$2'],
  [/^event_review_states\b/, 'event_statuses'],
  [/^(exclude_)?event_(author|reviewer)s\b/, '$1event_$2'],
]

export const listMethods = ({ callV2 }: V1Dependencies) => ({
  async list(call: Call<AdvisoryFilter>) {
    const { id, uidp } = call.request
    const reply = callV2(call, AdvisoriesService.method.listAdvisories, v2RequestOf(call.request))
    const renamed = renameErrorFields([...renamedFields, ...uidpFieldRenames(id && 'id')], reply)
    return convertReply(renamed, AdvisoriesListSchema, ({ advisories, nextPageToken, totalCount }) =>
      create(AdvisoriesListSchema, {
        id: uidp?.childrenOf || uidp?.descendantsOf || '',
        items: advisories.map(advisoryToV1),
        nextPageToken,
        ...(totalCount !== undefined && { totalCount }),
      }),
    )
  },
})

function v2RequestOf(filter: AdvisoryFilter): MessageInitShape<typeof ListAdvisoriesRequestSchema> {
  const { id, uidp, origin, latestEventType } = filter
  return {
    uidp: uidpFilter(uidp, { id }),
    advisoryIds: filter.advisoryIds,
    legacyAdvisoryIds: filter.legacyAdvisoryIds,
    artifactNames: filter.artifactName,
    artifactTypes: filter.artifactType,
    artifactArchitectures: filter.artifactArchitecture,
    componentNames: filter.componentName,
    componentTypes: filter.componentType,
    componentLocations: filter.componentLocation,
    aliases: filter.aliases,
    eventReviewStates: filter.eventStatuses,
    eventAuthors: filter.eventAuthor,
    excludeEventAuthors: filter.excludeEventAuthor,
    eventReviewers: filter.eventReviewer,
    eventTypes: filter.eventTypes,
    ...(origin !== undefined && { origin }),
    ...(latestEventType !== undefined && { latestEventType }),
    pageToken: filter.pageToken,
    pageSize: asInt32(filter.pageSize),
    orderBy: orderOf(filter.orderBy),
  }
}

function orderOf(orderBy: OrderBy): string {
  const order = orders.get(orderBy)
  if (order === undefined)
    throw invalidField(
      'order_by',
      'must be ID, CREATED_AT, UPDATED_AT or DELETED_AT, followed by _ASC or _DESC',
    )
  return order
}

const maxInt32 = 2 ** 31 - 1

/** The page size is an int64 in v1 and an int32 in v2. Negative sizes become -1, which v2 rejects. */
const asInt32 = (size: bigint) => Math.max(-1, Math.min(Number(size), maxInt32))
