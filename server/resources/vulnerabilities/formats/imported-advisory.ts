import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'

/** An advisory read from a record of another database. A record becomes one advisory for each affected package. */
export type ImportedAdvisory = {
  /** The format, the record and the package, e.g. `osv:GHSA-xxxx:npm/left-pad`. It is the same in every import. */
  source: string
  /** The record as compact JSON, without its parts about other packages. The export as OSV starts from it. */
  record: string
  draft: Advisory
  /** The source package of the artifact, or '' if the record does not name it. */
  origin: string
  /** When the record was published, changed and withdrawn, in milliseconds. */
  createTime: number
  updateTime: number
  withdrawTime: number | undefined
}
