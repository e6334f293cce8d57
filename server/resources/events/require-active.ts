import type { Subscription } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import {
  SubscriptionSchema,
  SubscriptionState,
} from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { failedPrecondition, notFound } from '../../aip/errors.ts'
import type { Work } from '../../store/work.ts'
import { readResource } from '../stored-resource.ts'
import { subscriptions } from './subscriptions/table.ts'

export function* requireSubscription(uid: string): Work<Subscription> {
  const subscription = yield* readResource(subscriptions, uid)
  if (!subscription) throw notFound(SubscriptionSchema.typeName, uid)
  return subscription
}

/** The queue of a subscription that is not active sends nothing. */
export function* requireActive(uid: string): Work<void> {
  const { state } = yield* requireSubscription(uid)
  if (state !== SubscriptionState.ACTIVE)
    throw failedPrecondition(
      'SUBSCRIPTION_NOT_ACTIVE',
      'the subscription is paused or disabled; set its state to SUBSCRIPTION_STATE_ACTIVE first',
    )
}
