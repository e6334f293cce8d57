// Converts an advisory to its form in the documents of `SecurityAdvisoryService`.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import type {
  DocumentAdvisory,
  DocumentEventSchema,
  FalsePositiveDetermination_Type as Reason,
} from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import {
  DetectionSchema,
  DocumentAdvisorySchema,
} from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import type { Advisory, AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisoryEvent_DetectionSchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { isApproved } from '../../event-type.ts'

/** Documents have no reviews, so events that are only proposed are left out. */
export const documentAdvisoryOf = ({ advisoryId, aliases, events }: Advisory): DocumentAdvisory =>
  create(DocumentAdvisorySchema, {
    id: advisoryId,
    aliases,
    events: events.filter(isApproved).flatMap(eventOf),
  })

function eventOf({ createTime, type }: AdvisoryEvent): MessageInitShape<typeof DocumentEventSchema>[] {
  const data = dataOf(type)
  return data ? [{ data, ...(createTime && { timestamp: createTime }) }] : []
}

type Data = NonNullable<MessageInitShape<typeof DocumentEventSchema>['data']>

/** Undefined for events that documents do not have. */
function dataOf(type: AdvisoryEvent['type']): Data | undefined {
  switch (type.case) {
    case 'truePositiveDetermination':
    case 'analysisNotPlanned':
    case 'fixNotPlanned':
    case 'pendingUpstreamFix':
      return { case: type.case, value: { note: type.value.note } }
    case 'falsePositiveDetermination': {
      const { type: reason, note } = type.value
      return { case: type.case, value: { type: reason as number as Reason, note } } // both enums have the same numbers
    }
    case 'detection': {
      // The names of some fields differ, their numbers do not.
      const bytes = toBinary(AdvisoryEvent_DetectionSchema, type.value)
      return { case: type.case, value: fromBinary(DetectionSchema, bytes) }
    }
    case 'fixed': {
      const { fixedVersion, scannerVersion, grypeDbBuilt, grypeDbChecksum } = type.value
      return { case: 'fixed', value: { fixedVersion, scannerVersion, grypeDbBuilt, grypeDbChecksum } }
    }
    case 'patched': {
      const [fixedVersion] = type.value.patchedVersions
      return fixedVersion === undefined ? undefined : { case: 'fixed', value: { fixedVersion } }
    }
    default:
      return undefined
  }
}
