// Sends a test event to one subscription. The test event is not in the event log, so no other subscription gets it. The
// log only says that the subscription was tested.
import { fixedPathOf } from '@stemma/api/method.ts'
import { failedPrecondition } from '../../../aip/errors.ts'
import { newChildUid, parentOf } from '../../../aip/uid.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { hasManyPending, insertDeliveries, maxPendingDeliveries } from '../../../store/delivery/deliveries.ts'
import { makeQueueDue } from '../../../store/delivery/queues.ts'
import { recordEvent } from '../../../store/events/record.ts'
import type { Reply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { deliveryReply } from '../delivery.ts'
import { requireActive } from '../require-active.ts'

export function testSubscription(deps: Dependencies, call: Call): Promise<Reply> {
  const { store, now, random } = deps
  return store.write(function* () {
    const access = yield* admitToWrite(call.demand)
    const uid = call.demand.scope
    yield* requireActive(uid)
    if (yield* hasManyPending(uid))
      throw failedPrecondition(
        'TOO_MANY_PENDING_DELIVERIES',
        `${maxPendingDeliveries} deliveries of the subscription wait for their next attempt; run stemma deliveries list to see why they fail`,
      )
    yield* recordEvent(access, { group: parentOf(uid), kind: 'subscriptions', uid, action: 'tested' })
    const time = now()
    const source = deps.settings.baseUrl + fixedPathOf(call.method)
    const event = testEventOf(deps, source, uid, call.demand.caller.identity, time)
    const { id: eventId, type: eventType } = event.attributes
    const delivery = newChildUid(uid, time, random)
    const draft = { uid: delivery, subscription: uid, sequence: 0, eventId, eventType, subject: uid }
    yield* insertDeliveries([{ ...draft, testEvent: JSON.stringify(event) }], time)
    yield* makeQueueDue(uid, time)
    return yield* deliveryReply(delivery)
  }, call.deadline)
}

/** A CloudEvent, in the same form as those that server/cloud-events makes. */
function testEventOf(
  { random, settings }: Dependencies,
  source: string,
  uid: string,
  actor: string,
  time: number,
) {
  const group = parentOf(uid)
  return {
    attributes: {
      ...{ specversion: '1.0', id: random(16).toString('hex'), source },
      type: `${settings.eventTypePrefix}api.events.subscription.test.v1`,
      ...{ subject: uid, time: new Date(time).toISOString(), group, audience: 'customer', actor },
    },
    contentType: 'application/json',
    data: JSON.stringify({ actor: { subject: actor }, body: { uid } }),
  }
}
