import type { Advisory, AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  AdvisorySchema,
  AdvisoryEvent_FalsePositiveDetermination_TypeSchema as ReasonSchema,
  ReviewStateSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { rulesOf } from '@stemma/api/method.ts'
import { invalidArgument, invalidField } from '../../../aip/errors.ts'
import { violationsOf } from '../../../aip/validate.ts'

/**
 * The maximum size of the binary message, in bytes. The JSON is larger and has its own limit, which is the same for
 * all resources (resource-size.ts).
 */
const maxBytes = 512 * 1024

/** Control and other invisible characters, and the separators of lines and paragraphs. */
const controlCharacter = /[\p{C}\p{Zl}\p{Zp}]/u

const singleLineFields = [
  ...(['author', 'artifactName', 'artifactType', 'artifactArchitecture'] as const),
  ...(['componentName', 'componentType', 'componentLocation', 'legacyAdvisoryId'] as const),
]

export function requireValid(advisory: Advisory): void {
  const [violation, ...others] = violationsOf(AdvisorySchema, advisory)
  if (violation) throw invalidArgument(violation, ...others)
  requireValidLegacyId(advisory)
  const faultyField = singleLineFields.find((field) => controlCharacter.test(advisory[field] ?? ''))
  if (faultyField)
    throw invalidField(
      AdvisorySchema.field[faultyField].name,
      'must not contain line breaks or control characters',
    )
  for (const [index, event] of advisory.events.entries()) requireValidEvent(event, `events[${index}]`)
}

/** The field is OUTPUT_ONLY in v2, so `violationsOf` skips it, but v1 and imports set it. */
function requireValidLegacyId({ legacyAdvisoryId = '' }: Advisory): void {
  const { maxLength } = rulesOf(AdvisorySchema.field.legacyAdvisoryId)
  if (legacyAdvisoryId.length > maxLength)
    throw invalidField('legacy_advisory_id', `must be at most ${maxLength} characters long`)
}

function requireValidEvent(event: AdvisoryEvent, path: string): void {
  const faultyField = (['author', 'reviewer'] as const).find((field) => controlCharacter.test(event[field]))
  if (faultyField)
    throw invalidField(`${path}.${faultyField}`, 'must not contain line breaks or control characters')
  const { type, reviewState } = event
  if (!type.case) throw invalidField(`${path}.type`, 'is required')
  if (!ReviewStateSchema.value[reviewState])
    throw invalidField(`${path}.review_state`, 'must be one of the review states')
  if (type.case === 'falsePositiveDetermination' && !ReasonSchema.value[type.value.type])
    throw invalidField(
      `${path}.false_positive_determination.type`,
      'must be one of the reasons for a false positive',
    )
}

/** `proto` is the whole advisory; its events are the only part that can make it this large. */
export function requireSize(proto: Uint8Array): void {
  if (proto.length > maxBytes)
    throw invalidField('events', `must be at most ${maxBytes} bytes, together with the other fields`)
}
