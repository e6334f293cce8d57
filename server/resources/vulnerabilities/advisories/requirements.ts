// How the filters of a request become terms.
import type { ListAdvisoriesRequest } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { EventTypeFilter } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { SearchField } from './terms.ts'
import { termOf } from './terms.ts'

/** Terms of which an advisory must have at least one. */
export type Requirement = string[]

/** Every filter that is set. An advisory must meet all of them. */
export function requirementsOf(request: ListAdvisoriesRequest): Requirement[] {
  const { origin, latestEventType = EventTypeFilter.UNSPECIFIED } = request
  const anyOf = (field: SearchField, values: readonly (string | number)[]) =>
    values.map((value) => termOf(field, value))
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
    anyOf('eventType', request.eventTypes),
    latestEventType === EventTypeFilter.UNSPECIFIED ? [] : anyOf('latestEventType', [latestEventType]),
  ].filter((terms) => terms.length > 0)
}
