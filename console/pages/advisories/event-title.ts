import type { AdvisoryEventJson } from '@stemma/api/json/platform/vulnerabilities/v2beta1/advisory'

const titles = {
  detection: 'Detected',
  fixed: 'Fixed',
  falsePositiveDetermination: 'False positive',
  analysisNotPlanned: 'Will not be analysed',
  fixNotPlanned: 'Will not be fixed',
  pendingUpstreamFix: 'Waits for a fix upstream',
  truePositiveDetermination: 'Confirmed',
  patched: 'Patched',
  componentLocationChanged: 'Component moved',
} satisfies Partial<Record<keyof AdvisoryEventJson, string>>

type EventType = keyof typeof titles

const typeOf = (event: AdvisoryEventJson) => (Object.keys(titles) as EventType[]).find((type) => event[type])

/** The type of an event in a few words. */
export function eventTitle(event: AdvisoryEventJson | undefined): string {
  const type = event && typeOf(event)
  return type ? titles[type] : 'Unknown'
}

/** The note of an event, or the version that fixes the vulnerability. */
export function eventNote(event: AdvisoryEventJson): string {
  const { fixed, patched } = event
  const note = Object.values(event).find(
    (value): value is { note: string } => typeof value === 'object' && value !== null && 'note' in value,
  )?.note
  const version = fixed?.fixedVersion || patched?.patchedVersions?.join(', ')
  return [version && `in ${version}`, note].filter(Boolean).join(': ')
}
