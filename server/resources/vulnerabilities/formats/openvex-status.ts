// Converts between the status of an OpenVEX statement and the type of an advisory event.
import type { AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { EventType } from './events.ts'
import { manualDetection } from './events.ts'

export const openVexContext = 'https://openvex.dev/ns/v0.2.0'

export const statuses = ['under_investigation', 'affected', 'fixed', 'not_affected'] as const

export type Status = (typeof statuses)[number]

/** Several reasons are written as the same justification. An imported justification is read as the last of them. */
const justifications = new Map<FalsePositive, string>([
  [FalsePositive.VULNERABILITY_RECORD_ANALYSIS_CONTESTED, 'vulnerable_code_not_present'],
  [FalsePositive.VULNERABLE_CODE_VERSION_NOT_USED, 'vulnerable_code_not_present'],
  [FalsePositive.VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE, 'vulnerable_code_not_present'],
  [FalsePositive.COMPONENT_VULNERABILITY_MISMATCH, 'component_not_present'],
  [FalsePositive.VULNERABLE_CODE_NOT_IN_EXECUTION_PATH, 'vulnerable_code_not_in_execute_path'],
  [
    FalsePositive.VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY,
    'vulnerable_code_cannot_be_controlled_by_adversary',
  ],
  [FalsePositive.INLINE_MITIGATIONS_EXIST, 'inline_mitigations_already_exist'],
])

export const reasons = new Map([...justifications].map(([type, name]) => [name, type]))

/**
 * `versions` are the versions that the statement is about; if empty, it is about all. `otherFields` are further fields
 * of the statement.
 */
type StatementContent = { status: Status; versions: string[]; otherFields: Record<string, string> }

/** The status of an advisory. `event` is its `latestDecision`, if it has one. */
export function statusOf(event: AdvisoryEvent | undefined): StatementContent {
  const type = event?.type ?? { case: undefined }
  switch (type.case) {
    case undefined:
    case 'componentLocationChanged':
    case 'detection':
      return { status: 'under_investigation', versions: [], otherFields: {} }
    case 'fixed':
      return { status: 'fixed', versions: [type.value.fixedVersion], otherFields: notes(type.value.note) }
    case 'patched':
      return { status: 'fixed', versions: type.value.patchedVersions, otherFields: notes(type.value.note) }
    case 'falsePositiveDetermination': {
      const { type: reason, note } = type.value
      const justification = justifications.get(reason)
      const impact = note || (justification ? '' : 'The artifact is not affected.')
      const otherFields = {
        ...(justification && { justification }),
        ...(impact && { impact_statement: impact }),
      }
      return { status: 'not_affected', versions: [], otherFields }
    }
    default: {
      const action = type.value.note || actions[type.case]
      return { status: 'affected', versions: [], otherFields: { action_statement: action } }
    }
  }
}

const notes = (note: string): Record<string, string> => (note === '' ? {} : { status_notes: note })

/** OpenVEX requires an action statement for affected products. These are used for events without a note. */
const actions = {
  truePositiveDetermination: 'There is no fix yet.',
  fixNotPlanned: 'A fix is not planned.',
  analysisNotPlanned: 'An analysis is not planned.',
  pendingUpstreamFix: 'The component has no upstream fix yet.',
}

export function eventTypeOf(status: Status, version: string, note: string, reason: FalsePositive): EventType {
  switch (status) {
    case 'under_investigation':
      return manualDetection
    case 'affected':
      return { case: 'truePositiveDetermination', value: { note } }
    case 'fixed':
      return { case: 'fixed', value: { fixedVersion: version, note } }
    case 'not_affected':
      return { case: 'falsePositiveDetermination', value: { type: reason, note } }
  }
}
