import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { kindOf } from '../../kind.ts'
import { numberOf } from './terms.ts'

export const advisories = kindOf(AdvisorySchema, 'advisories', {
  columns: {
    advisory_id: ({ advisoryId }) => advisoryId,
    artifact_name: ({ artifactName }) => artifactName,
    /** By which its terms lead to it. */
    number: ({ uid }) => numberOf(uid),
  },
  /**
   * `origin` is the source package of the artifact. `terms` and `texts` are searched. `segment` is where the
   * postings of the advisory are.
   */
  extraColumns: { origin: 'text', terms: 'text', texts: 'text', segment: 'integer' },
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
