import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { kindOf } from '../../kind.ts'
import { numberOf } from './terms.ts'

export const advisories = kindOf(AdvisorySchema, 'advisories', {
  columns: {
    advisory_id: ({ advisoryId }) => advisoryId,
    artifact_name: ({ artifactName }) => artifactName,
    /** By which its terms lead to it. */
    number: ({ uid }) => numberOf(uid),
    /** What the artifact is built from, which the resource does not show; and with it the rest. */
    origin: () => null,
    terms: () => null,
    texts: () => null,
    /** Where its postings lie. */
    segment: () => null,
  },
  sortable: {
    advisory_id: 'advisory_id',
    advisoryId: 'advisory_id',
    artifact_name: 'artifact_name',
    artifactName: 'artifact_name',
  },
  // Imports write many, most of them into one place.
  isOrderedInPlace: false,
})

/** Found by nobody, and read by whoever knows one. */
export const withdrawnAdvisories = kindOf(AdvisorySchema, 'withdrawn_advisories')
