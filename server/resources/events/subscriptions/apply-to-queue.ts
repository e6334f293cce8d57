import type { Subscription } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { SubscriptionState } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { deliveryPeriodMs } from '../../../store/delivery/deliveries.ts'
import { resetSink, restartQueue, stopQueue } from '../../../store/delivery/queues.ts'
import type { Work } from '../../../store/work.ts'

/** Applies changes of the state and the sink of a subscription to its queue. */
export function* applyToQueue(
  uid: string,
  before: Subscription,
  after: Subscription,
  now: number,
): Work<void> {
  const isActive = after.state === SubscriptionState.ACTIVE
  const wasActive = before.state === SubscriptionState.ACTIVE
  if (isActive && !wasActive) yield* restartQueue(uid, now, now - deliveryPeriodMs)
  if (!isActive && wasActive) yield* stopQueue(uid)
  if (after.sink !== before.sink) yield* resetSink(uid, now)
}
