// Advisories as they are read: with filters that find few among many.
import type { ListAdvisoriesRequest } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  EventTypeFilterSchema,
  ReviewStateSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { Code } from '../../../aip/code.ts'
import { invalidField, StatusError } from '../../../aip/errors.ts'
import type { Call } from '../../../rpc/call.ts'
import { getResource } from '../../get.ts'
import { listResources } from '../../list.ts'
import type { Surroundings } from '../../surroundings.ts'
import { search } from './search.ts'
import { advisories, withdrawnAdvisories } from './table.ts'

export function advisoriesService(surroundings: Surroundings) {
  const { store } = surroundings

  return {
    getAdvisory: (call: Call) =>
      getResource(store, advisories, call).catch((error: unknown) => {
        if (!(error instanceof StatusError) || error.code !== Code.NOT_FOUND) throw error
        return getResource(store, withdrawnAdvisories, call)
      }),

    listAdvisories(call: Call<ListAdvisoriesRequest>) {
      return listResources(surroundings, advisories, call, {
        *find(roots) {
          requireKnown(call.request)
          return yield* search(call.request, roots)
        },
      })
    },
  }
}

function requireKnown({ eventReviewStates, eventTypes, latestEventType }: ListAdvisoriesRequest): void {
  if (eventReviewStates.some((state) => !ReviewStateSchema.value[state]))
    throw invalidField('event_review_states', 'must be review states')
  const types = [...eventTypes, ...(latestEventType === undefined ? [] : [latestEventType])]
  if (types.some((type) => !EventTypeFilterSchema.value[type]))
    throw invalidField('event_types', 'must be types of events')
}
