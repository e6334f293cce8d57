// Changes of subscriptions that follow from deliveries, and not from a call.
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Handshake, SubscriptionState } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { stopQueue } from '../../../store/delivery/queues.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../../stored-resource.ts'
import { subscriptions } from './table.ts'

/** Stops a subscription until somebody activates it again. Returns false, and changes nothing, if it is not active. */
export function* disableSubscription(
  access: WriteAccess,
  uid: string,
  reason: string,
  now: number,
): Work<boolean> {
  const stored = yield* lockResource(subscriptions, uid)
  if (stored?.resource.state !== SubscriptionState.ACTIVE) return false
  const { resource } = stored
  const updateTime = nextUpdateTime(now, stored.updateTime)
  resource.state = SubscriptionState.DISABLED
  resource.stateReason = reason
  resource.updateTime = timestampFromMs(updateTime)
  yield* stopQueue(uid)
  yield* replaceResource(access, subscriptions, resource, { uid, updateTime })
  return true
}

/**
 * The update time and the entity tag stay the same, so that a client can still update the
 * subscription with the entity tag that it got before the handshake.
 */
export function* recordHandshake(access: WriteAccess, uid: string, isAllowed: boolean): Work<void> {
  const stored = yield* lockResource(subscriptions, uid)
  if (!stored) return
  const { resource, updateTime } = stored
  resource.handshake = isAllowed ? Handshake.ALLOWED : Handshake.NOT_ALLOWED
  yield* replaceResource(access, subscriptions, resource, { uid, updateTime })
}
