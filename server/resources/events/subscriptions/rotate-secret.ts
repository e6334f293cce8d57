import { create } from '@bufbuild/protobuf'
import type { Duration } from '@bufbuild/protobuf/wkt'
import { durationMs, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { RotateSubscriptionSecretRequest } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import {
  RotateSubscriptionSecretResponseSchema,
  SubscriptionSchema,
} from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { invalidField, notFound } from '../../../aip/errors.ts'
import { newWebhookSecret } from '../../../crypto/webhook-secret.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../../stored-resource.ts'
import { subscriptions } from './table.ts'

const dayMs = 24 * 60 * 60 * 1000
const defaultOverlapMs = dayMs
const maxOverlapMs = 7 * dayMs

/** A rotation is an update of the subscription: it sets the update time, and is in the audit log. */
export function rotateSecret(
  { store, now, random, settings }: Dependencies,
  call: Call<RotateSubscriptionSecretRequest>,
): Promise<Reply> {
  const secret = newWebhookSecret(random)
  return store.write(function* () {
    const access = yield* admitToWrite(call.demand)
    const uid = call.demand.scope
    const overlapMs = overlapOf(call.request.overlap)
    const stored = yield* lockResource(subscriptions, uid)
    if (!stored) throw notFound(SubscriptionSchema.typeName, uid)
    const { resource, columns } = stored
    const updateTime = nextUpdateTime(now(), stored.updateTime)
    resource.updateTime = timestampFromMs(updateTime)
    const hasPrevious = columns.secret !== '' && overlapMs > 0
    const until = hasPrevious ? now() + overlapMs : 0
    yield* replaceResource(access, subscriptions, resource, {
      ...{ uid, updateTime },
      columns: {
        secret: settings.sealWebhookSecret(secret),
        previous_secret: hasPrevious ? columns.secret : '',
        previous_secret_until: until,
      },
    })
    return messageReply(
      RotateSubscriptionSecretResponseSchema,
      create(RotateSubscriptionSecretResponseSchema, {
        secret,
        ...(hasPrevious && { previousSecretExpireTime: timestampFromMs(until) }),
      }),
    )
  }, call.deadline)
}

function overlapOf(overlap: Duration | undefined): number {
  const overlapMs = overlap ? durationMs(overlap) : defaultOverlapMs
  if (overlapMs >= 0 && overlapMs <= maxOverlapMs) return overlapMs
  throw invalidField('overlap', 'must be from 0 to 7 days, such as 86400s')
}
