// Events of advisories in words.
import type { AdvisoryEventJson } from '@stemma/api/json/platform/vulnerabilities/v2beta1/advisory'
import type { BadgeTone } from '../../ui/badge.tsx'

/** Title and tone of each type of event. An event has the type of the field that is set in it. */
const types = {
  detection: ['Detected', 'warning'],
  truePositiveDetermination: ['Confirmed', 'bad'],
  fixed: ['Fixed', 'good'],
  patched: ['Patched', 'good'],
  falsePositiveDetermination: ['False positive', 'good'],
  analysisNotPlanned: ['Will not be analysed', 'neutral'],
  fixNotPlanned: ['Will not be fixed', 'bad'],
  pendingUpstreamFix: ['Waits for a fix upstream', 'warning'],
  componentLocationChanged: ['Component moved', 'neutral'],
} satisfies Partial<Record<keyof AdvisoryEventJson, [title: string, tone: BadgeTone]>>

type EventType = keyof typeof types

/** An event of an advisory, or of a document that `listDocuments` returns. */
export type TypedEvent = { [type in EventType]?: unknown }

const typeOf = (event: TypedEvent) => (Object.keys(types) as EventType[]).find((type) => event[type])

/** The type of an event in a few words. */
export function eventTitle(event: TypedEvent | undefined): string {
  const type = event && typeOf(event)
  return type ? types[type][0] : 'Unknown'
}

export function eventTone(event: TypedEvent | undefined): BadgeTone {
  const type = event && typeOf(event)
  return type ? types[type][1] : 'neutral'
}

/** The values of the filter `latest_event_type`, such as `EVENT_TYPE_FILTER_FIX_NOT_PLANNED`. */
export const statusOptions = [
  { value: '', label: 'Any status' },
  ...Object.entries(types).map(([type, [label]]) => ({
    value: `EVENT_TYPE_FILTER_${type.replace(/[A-Z]/g, '_$&').toUpperCase()}`,
    label,
  })),
]

/** The version that fixes the vulnerability and the note of the event, if it has them. */
export function eventNote(event: AdvisoryEventJson): string {
  const { fixed, patched } = event
  const note = Object.values(event).find(
    (value): value is { note: string } => typeof value === 'object' && value !== null && 'note' in value,
  )?.note
  const version = fixed?.fixedVersion || patched?.patchedVersions?.join(', ')
  return [version && `in ${version}`, note].filter(Boolean).join(': ')
}
