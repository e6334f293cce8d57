// Limits of imported values. Those of the advisory's fields come from the contract, so that an advisory from a readable
// record is valid.
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
  /** Of a vulnerability or an OSV record. */
  recordId: 255,
  /** The IRI of an OpenVEX document. */
  documentId: 1024,
}

/** An advisory with more events than this keeps the latest. */
export const maxEvents = rulesOf(AdvisorySchema.field.events).maxItems
/** The contract has no limit for severities, so this one protects the store from excessive records. */
export const maxSeverities = 100
