// Converts the filters of a request to search terms.
import type { ListAdvisoriesRequest } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { EventTypeFilter } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { SearchField } from './terms.ts'
import { termOf } from './terms.ts'

/** A list of terms. An advisory meets the requirement if it has at least one of them. */
export type Requirement = string[]

/**
 * One requirement for each filter that is set, except that `origin` replaces `artifact_names`. A matching advisory meets
 * all of them.
 */
export function requirementsOf(request: ListAdvisoriesRequest): Requirement[] {
  const { origin, latestEventType = EventTypeFilter.UNSPECIFIED } = request
  const anyOf = (field: SearchField, values: readonly (string | number)[]) =>
    values.map((value) => termOf(field, value))
  const anyTypeOf = (field: SearchField, types: readonly EventTypeFilter[]) =>
    types.includes(EventTypeFilter.UNSPECIFIED) ? [] : anyOf(field, types)
  return [
    anyOf('advisoryId', request.advisoryIds),
    anyOf('legacyAdvisoryId', request.legacyAdvisoryIds),
    origin === undefined
      ? anyOf('artifactName', request.artifactNames)
      : [...anyOf('origin', [origin]), ...anyOf('artifactName', [origin])],
    anyOf('artifactType', request.artifactTypes),
    anyOf('artifactArchitecture', request.artifactArchitectures),
    anyOf('componentName', request.componentNames),
    anyOf('componentType', request.componentTypes),
    anyOf('componentLocation', request.componentLocations),
    anyOf('alias', request.aliases),
    anyOf('reviewState', request.eventReviewStates),
    anyOf('eventAuthor', request.eventAuthors),
    anyOf('eventReviewer', request.eventReviewers),
    anyTypeOf('eventType', request.eventTypes),
    anyTypeOf('latestEventType', [latestEventType]),
  ].filter((terms) => terms.length > 0)
}
