// Callers who may write advisories may propose events. Only approvers may approve or reject events, or change approved
// events.
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
 * in `scope` if the caller approves or rejects the event or changes an approved one. `before` is the stored event that
 * `event` replaces.
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
  const needsApprover = isReview || before?.reviewState === ReviewState.APPROVED
  const isUnchanged = before && equals(AdvisoryEventSchema, before, event)
  if (needsApprover && !isUnchanged) requireApprover(grants, scope)
}

function requireApprover(grants: Grants, scope: string): void {
  const approve = Capability.CAP_ADVISORIES_APPROVE
  if (!holds(grants, [approve], scope)) throw permissionDenied(nameOf(approve), scope)
}
