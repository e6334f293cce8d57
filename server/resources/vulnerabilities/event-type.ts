// The types of advisory events, as numbered in list filters.
import type { Advisory, AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { EventTypeFilter, ReviewState } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'

type Case = NonNullable<AdvisoryEvent['type']['case']>

const types: Record<Case, EventTypeFilter> = {
  detection: EventTypeFilter.DETECTION,
  truePositiveDetermination: EventTypeFilter.TRUE_POSITIVE_DETERMINATION,
  fixed: EventTypeFilter.FIXED,
  falsePositiveDetermination: EventTypeFilter.FALSE_POSITIVE_DETERMINATION,
  analysisNotPlanned: EventTypeFilter.ANALYSIS_NOT_PLANNED,
  fixNotPlanned: EventTypeFilter.FIX_NOT_PLANNED,
  pendingUpstreamFix: EventTypeFilter.PENDING_UPSTREAM_FIX,
  patched: EventTypeFilter.PATCHED,
  componentLocationChanged: EventTypeFilter.COMPONENT_LOCATION_CHANGED,
}

export const typeOf = ({ type }: AdvisoryEvent): EventTypeFilter =>
  type.case ? types[type.case] : EventTypeFilter.UNSPECIFIED

/** Events are ordered by time. */
export const latestApproved = ({ events }: Advisory): AdvisoryEvent | undefined => events.findLast(isApproved)

/**
 * The event that determines whether the artifact is affected. Moving a component changes nothing about that.
 */
export const latestDecision = ({ events }: Advisory): AdvisoryEvent | undefined =>
  events.findLast((event) => isApproved(event) && event.type.case !== 'componentLocationChanged')

export const isApproved = ({ reviewState }: AdvisoryEvent) => reviewState === ReviewState.APPROVED
