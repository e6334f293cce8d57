// Limits of imported values. The limits of an advisory's fields are read from the contract, so that every advisory that
// is read from a record is valid.
import {
  AdvisoryEvent_FixedSchema,
  AdvisorySchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { rulesOf } from '@stemma/api/method.ts'

/** In characters. */
export const maxLength = {
  author: rulesOf(AdvisorySchema.field.author).maxLength,
  packageName: rulesOf(AdvisorySchema.field.artifactName).maxLength,
  packageType: rulesOf(AdvisorySchema.field.artifactType).maxLength,
  version: rulesOf(AdvisoryEvent_FixedSchema.field.fixedVersion).maxLength,
  note: rulesOf(AdvisoryEvent_FixedSchema.field.note).maxLength,
  /** The id of a vulnerability or an OSV record. */
  recordId: 255,
  /** The IRI of an OpenVEX document. */
  documentId: 1024,
  /** The name of a repository of a security database. */
  repository: 1024,
}

/**
 * The maximum total length, in characters, of the copies of one record. One copy is stored for each package, without the
 * parts about other packages.
 */
export const maxStoredCharacters = 64 * 1024 * 1024
/** If a record has more events than this, only the latest are imported. */
export const maxEvents = rulesOf(AdvisorySchema.field.events).maxItems
/** The contract does not limit severities. This limit protects the store from excessive records. */
export const maxSeverities = 100
