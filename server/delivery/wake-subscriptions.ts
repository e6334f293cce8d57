import { lineage } from '../aip/uid.ts'
import { wakeQueues } from '../store/delivery/queues.ts'
import type { SealedEvent } from '../store/events/event-row.ts'
import type { Work } from '../store/work.ts'

const maxGroups = 512

/** Makes the queues of the subscriptions due that can get these events: those in the groups of the events, and above. */
export function* wakeSubscriptions(events: readonly Pick<SealedEvent, 'group'>[], now: number): Work<void> {
  const groups = [...new Set(events.flatMap(({ group }) => lineage(group)))]
  for (let at = 0; at < groups.length; at += maxGroups)
    yield* wakeQueues(groups.slice(at, at + maxGroups), now)
}
