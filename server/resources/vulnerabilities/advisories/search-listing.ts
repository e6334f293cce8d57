import type { ListAdvisoriesRequest } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  EventTypeFilterSchema,
  ReviewStateSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import type { Call } from '../../../rpc/call.ts'
import type { ListOptions } from '../../list.ts'
import { search } from './search.ts'

/** Options of a list that applies the filters of the request with the search index. */
export const searchListing = ({ request }: Call<ListAdvisoriesRequest>): ListOptions => ({
  *search(organizations, maxRows) {
    requireKnownEnums(request)
    return yield* search(request, organizations, { maxPostings: maxRows })
  },
})

function requireKnownEnums({ eventReviewStates, eventTypes, latestEventType }: ListAdvisoriesRequest): void {
  if (eventReviewStates.some((state) => !ReviewStateSchema.value[state]))
    throw invalidField('event_review_states', 'must be review states')
  if (eventTypes.some((type) => !EventTypeFilterSchema.value[type]))
    throw invalidField('event_types', 'must be types of events')
  if (latestEventType !== undefined && !EventTypeFilterSchema.value[latestEventType])
    throw invalidField('latest_event_type', 'must be a type of event')
}
