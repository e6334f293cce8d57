import { create } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { ReplaySubscriptionRequest } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { ReplaySubscriptionResponseSchema } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { parentOf } from '../../../aip/uid.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { beginReplay } from '../../../store/delivery/queues.ts'
import { recordEvent } from '../../../store/events/record.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { requireActive } from '../require-active.ts'

const maxReplayMs = 31 * 24 * 60 * 60 * 1000

/** The events are taken from the log in the background, as fast as the sink accepts them. */
export function replaySubscription(
  { store, now }: Dependencies,
  call: Call<ReplaySubscriptionRequest>,
): Promise<Reply> {
  return store.write(function* () {
    const access = yield* admitToWrite(call.demand)
    const uid = call.demand.scope
    const time = now()
    const since = call.request.since ? timestampMs(call.request.since) : Number.NaN
    if (!(since >= time - maxReplayMs && since <= time))
      throw invalidField('since', 'must be in the past, and at most 31 days ago')
    yield* requireActive(uid)
    yield* beginReplay(uid, since, time)
    const details = { since: new Date(since).toISOString() }
    yield* recordEvent(access, {
      ...{ group: parentOf(uid), kind: 'subscriptions', uid, action: 'replayed', details },
    })
    return messageReply(ReplaySubscriptionResponseSchema, create(ReplaySubscriptionResponseSchema))
  }, call.deadline)
}
