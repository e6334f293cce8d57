import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { documentNumberOf } from '../../../store/postings/numbering.ts'
import { kindOf } from '../../kind.ts'

export const advisories = kindOf(AdvisorySchema, 'advisories', {
  columns: {
    advisory_id: ({ advisoryId }) => advisoryId,
    artifact_name: ({ artifactName }) => artifactName,
    /** Identifies the advisory in the search index. */
    number: ({ uid }) => documentNumberOf(uid),
  },
  /**
   * `origin` is the source package of the artifact. `terms` and `texts` are searched. `segment` is the segment of the
   * search index that contains the advisory.
   */
  extraColumns: { origin: 'text', terms: 'text', texts: 'text', segment: 'integer' },
  sortable: {
    advisory_id: 'advisory_id',
    advisoryId: 'advisory_id',
    artifact_name: 'artifact_name',
    artifactName: 'artifact_name',
  },
  // Imports write many advisories to one group, and are faster with fewer indexes.
  isIndexedByParent: false,
})

/** Withdrawn advisories are in no list, but can be read by uid. */
export const withdrawnAdvisories = kindOf(AdvisorySchema, 'withdrawn_advisories')
