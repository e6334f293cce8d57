import type { AdvisoryEventJson } from '@stemma/api/json/platform/vulnerabilities/v2beta1/advisory'
import { Badge } from '../../ui/badge.tsx'
import { eventTitle, eventTone } from './event-title.ts'

/** The status of an advisory: the type of its last approved event, as for the filter `latest_event_type`. */
export function StatusBadge({ events }: { events: readonly AdvisoryEventJson[] }) {
  const latest = events.findLast(({ reviewState }) => reviewState === 'REVIEW_STATE_APPROVED')
  return latest ? <Badge tone={eventTone(latest)}>{eventTitle(latest)}</Badge> : <Badge>Not approved</Badge>
}
