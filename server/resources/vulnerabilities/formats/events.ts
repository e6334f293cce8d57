import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  AdvisoryEvent_DetectionSchema,
  AdvisoryEventSchema,
  ReviewState,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'

/** The type of an event with its details, as in the message's oneof. */
export type EventType = NonNullable<MessageInitShape<typeof AdvisoryEventSchema>['type']>

/** An event of an imported record. Published records need no review here. */
export const approvedEvent = (author: string, time: number, type: EventType): AdvisoryEvent =>
  create(AdvisoryEventSchema, {
    author,
    createTime: timestampFromMs(time),
    reviewState: ReviewState.APPROVED,
    type,
  })

/**
 * Most imported records have a detection, and all of these share this one object. That is safe,
 * because the details of an event never change.
 */
export const manualDetection: EventType = {
  case: 'detection',
  value: create(AdvisoryEvent_DetectionSchema, { type: { case: 'manual', value: {} } }),
}
