// Lists of advisories as v1 has them: page by page, as those of v2.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { AdvisoryFilter } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import { AdvisoriesListSchema, OrderBy } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import type { ListAdvisoriesRequestSchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Ask } from '../call-v2.ts'
import type { Renaming } from '../convert.ts'
import { converted, inNames } from '../convert.ts'
import { namesOfPlace, placeOf } from '../place.ts'
import { oldAdvisoryOf } from './conversion.ts'

const orders = new Map<OrderBy, string>([
  [OrderBy.ORDER_BY_UNSPECIFIED, ''],
  [OrderBy.ID_ASC, 'uid'],
  [OrderBy.ID_DESC, 'uid desc'],
  [OrderBy.CREATED_AT_ASC, 'create_time'],
  [OrderBy.CREATED_AT_DESC, 'create_time desc'],
  [OrderBy.UPDATED_AT_ASC, 'update_time'],
  [OrderBy.UPDATED_AT_DESC, 'update_time desc'],
  // What was withdrawn is in no list, so all are alike in this.
  [OrderBy.DELETED_AT_ASC, 'uid'],
  [OrderBy.DELETED_AT_DESC, 'uid desc'],
])

const names: Renaming[] = [
  [/^(artifact|component)_(name|type|architecture|location)s\b/, '$1_$2'],
  [/^event_review_states\b/, 'event_statuses'],
  [/^(exclude_)?event_(author|reviewer)s\b/, '$1event_$2'],
]

export const advisoryListOfV1 = (ask: Ask) => ({
  async list(call: Call<AdvisoryFilter>) {
    const { id } = call.request
    const asked = ask(call, AdvisoriesService.method.listAdvisories, requestOf(call.request))
    const told = inNames([...names, ...namesOfPlace(id && 'id')], asked)
    return converted(told, AdvisoriesListSchema, ({ advisories, nextPageToken, totalCount }) =>
      create(AdvisoriesListSchema, {
        items: advisories.map(oldAdvisoryOf),
        nextPageToken,
        ...(totalCount !== undefined && { totalCount }),
      }),
    )
  },
})

function requestOf(filter: AdvisoryFilter): MessageInitShape<typeof ListAdvisoriesRequestSchema> {
  const { id, uidp, origin, latestEventType } = filter
  return {
    uidp: placeOf(uidp, { id }),
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
    pageSize: smallNumber(filter.pageSize),
    orderBy: orderOf(filter.orderBy),
  }
}

function orderOf(asked: OrderBy): string {
  const order = orders.get(asked)
  if (order === undefined)
    throw invalidField('order_by', 'must be by ID, CREATED_AT, UPDATED_AT or DELETED_AT, each _ASC or _DESC')
  return order
}

const largest = 2 ** 31 - 1

/** The sizes of pages are smaller in v2, and no page is as large as that. */
const smallNumber = (size: bigint) => Math.max(-1, Math.min(Number(size), largest))
