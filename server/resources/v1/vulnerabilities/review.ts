// Callers who may write advisories may propose events. Only approvers may approve or reject events, change approved or
// rejected events, or name a reviewer.
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

/**
 * Fills in the author, review state and reviewer of an event that the caller writes. Requires the capability to approve
 * in `scope` if the caller approves or rejects the event or changes one that was approved or rejected. `before` is the
 * stored event that `event` replaces. A reviewer that is named by a caller without this capability is ignored.
 */
export function applyReviewRules(
  grants: Grants,
  scope: string,
  event: AdvisoryEvent,
  before?: AdvisoryEvent,
): void {
  const { identity } = grants.caller
  if (event.reviewState === ReviewState.UNSPECIFIED) event.reviewState = ReviewState.PENDING
  event.author ||= identity
  const isReview = event.reviewState !== ReviewState.PENDING
  if (isReview) event.reviewer ||= identity
  if (holds(grants, [approve], scope)) return
  const needsApprover = isReview || (before && decidedStates.includes(before.reviewState))
  if (!needsApprover) event.reviewer = before?.reviewer ?? ''
  else if (!before || !equals(AdvisoryEventSchema, before, event))
    throw permissionDenied(nameOf(approve), scope)
}

const approve = Capability.CAP_ADVISORIES_APPROVE
/** In the other states, every caller who may write the advisory may change the event. */
const decidedStates: readonly ReviewState[] = [ReviewState.APPROVED, ReviewState.REJECTED]
