// Anybody who writes advisories proposes events; what counts is for those who may approve them.
import { equals } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  AdvisoryEventSchema,
  ReviewState,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { permissionDenied } from '../../../aip/errors.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import type { Grants } from '../../../policy/grants.ts'
import { holds } from '../../../policy/grants.ts'

/** Says by whom an event is, and requires that they may review it if they do. `place` is where the call is made. */
export function settleEvent(
  grants: Grants,
  place: string,
  event: AdvisoryEvent,
  before?: AdvisoryEvent,
): AdvisoryEvent {
  const { identity } = grants.caller
  if (event.reviewState === ReviewState.UNSPECIFIED) event.reviewState = ReviewState.PENDING
  event.author ||= identity
  const isReview = event.reviewState !== ReviewState.PENDING
  if (isReview) event.reviewer ||= identity
  const isGuarded = isReview || before?.reviewState === ReviewState.APPROVED
  const isSame = before && equals(AdvisoryEventSchema, before, event)
  if (isGuarded && !isSame) requireApprover(grants, place)
  return event
}

function requireApprover(grants: Grants, place: string): void {
  const approve = Capability.CAP_ADVISORIES_APPROVE
  if (!holds(grants, [approve], place)) throw permissionDenied(nameOf(approve), place)
}
