import { create } from '@bufbuild/protobuf'
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Delivery, DeliveryState } from '@stemma/api/gen/platform/events/v2beta1/delivery_pb.ts'
import { DeliveryAttemptSchema, DeliverySchema } from '@stemma/api/gen/platform/events/v2beta1/delivery_pb.ts'
import { notFound } from '../../aip/errors.ts'
import type { StoredDelivery } from '../../store/delivery/deliveries.ts'
import { readDelivery } from '../../store/delivery/deliveries.ts'
import type { Work } from '../../store/work.ts'
import type { Reply } from '../../wire/reply.ts'
import { messageReply } from '../../wire/reply.ts'

export function deliveryOf(stored: StoredDelivery): Delivery {
  const { uid, eventId, eventType, subject, sequence, state, nextTime, finishTime } = stored
  return create(DeliverySchema, {
    ...{ uid, eventId, eventType, eventSubject: subject, sequence: BigInt(sequence) },
    state: state as DeliveryState, // the store has the same values
    createTime: timestampFromMs(stored.createTime),
    ...(nextTime !== null && { nextAttemptTime: timestampFromMs(nextTime) }),
    ...(finishTime !== null && { finishTime: timestampFromMs(finishTime) }),
    attempts: stored.attempts.map(({ time, status, latencyMs, response, error }) =>
      create(DeliveryAttemptSchema, {
        ...{ time: timestampFromMs(time), statusCode: status, latency: durationFromMs(latencyMs) },
        ...{ response, error },
      }),
    ),
    requestHeaders: stored.attempts.at(-1)?.headers ?? {},
  })
}

export function* deliveryReply(uid: string): Work<Reply> {
  const stored = yield* readDelivery(uid)
  if (!stored) throw notFound(DeliverySchema.typeName, uid)
  return messageReply(DeliverySchema, deliveryOf(stored))
}
