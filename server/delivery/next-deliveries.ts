// The deliveries of a queue that are to be sent next.
import type { Subscription } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { isAtOrBelow, newChildUid } from '../aip/uid.ts'
import type { CloudEvent } from '../cloud-events/cloud-event.ts'
import type { StoredDelivery } from '../store/delivery/deliveries.ts'
import { readDueDeliveries } from '../store/delivery/deliveries.ts'
import { isBehind, takeEvents } from '../store/delivery/take-events.ts'
import type { DeliverDependencies, Destination } from './deliver.ts'

/** How many parts of the log are read to find events for a subscription. The next turn reads on. */
const maxParts = 10

/** Deliveries that are due; if these are fewer than wanted, also new ones for events of the log. */
export async function nextDeliveries(
  deps: Pick<DeliverDependencies, 'store' | 'now' | 'random' | 'toCloudEvent'>,
  { subscription, queue, token }: Destination,
  wanted: number,
): Promise<StoredDelivery[]> {
  const { store, now, random, toCloudEvent } = deps
  const { uid } = subscription
  const readDue = () => store.read(() => readDueDeliveries(uid, token, now(), wanted))
  let due = await readDue()
  let hasMore = due.length < wanted && (await store.read(() => isBehind(uid)))
  for (let part = 0; hasMore && due.length < wanted && part < maxParts; part++) {
    const missing = wanted - due.length
    hasMore = await store.write(() =>
      takeEvents({
        ...{ subscription: uid, token, now: now(), wanted: missing },
        isInGroup: (group) => isAtOrBelow(group, queue.parent),
        draft(event) {
          const attributes = wantedAttributes(toCloudEvent(event), subscription)
          const { id: eventId = '', type: eventType = '', subject = '' } = attributes ?? {}
          const draft = { subscription: uid, sequence: event.sequence, eventId, eventType, subject }
          return attributes && { ...draft, uid: newChildUid(uid, now(), random), testEvent: null }
        },
      }),
    )
    due = await readDue()
  }
  return due
}

function wantedAttributes(
  event: CloudEvent | undefined,
  { eventTypes }: Subscription,
): CloudEvent['attributes'] | undefined {
  const type = event?.attributes.type ?? ''
  const isWanted = eventTypes.length === 0 || eventTypes.some((prefix) => type.startsWith(prefix))
  return isWanted ? event?.attributes : undefined
}
