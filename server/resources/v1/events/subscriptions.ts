// Subscriptions as v1 has them.
import { create } from '@bufbuild/protobuf'
import type {
  CreateSubscriptionRequest,
  DeleteSubscriptionRequest,
  SubscriptionFilter,
} from '@stemma/api/gen/platform/events/subscription_pb.ts'
import {
  SubscriptionSchema as OldSubscriptionSchema,
  SubscriptionListSchema,
} from '@stemma/api/gen/platform/events/subscription_pb.ts'
import type { Subscription } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { SubscriptionsService } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import type { Call } from '../../../rpc/call.ts'
import { listEvery } from '../all-pages.ts'
import type { Ask } from '../call-v2.ts'
import { converted, deleted, inNames } from '../convert.ts'
import { namesOfPlace, placeOf } from '../place.ts'

const v2 = SubscriptionsService.method

export const subscriptionsOfV1 = (ask: Ask) => ({
  create(call: Call<CreateSubscriptionRequest>) {
    const { parentId, subscription } = call.request
    const asked = ask(call, v2.createSubscription, {
      parent: parentId,
      ...(subscription && { subscription: { sink: subscription.sink } }),
    })
    return converted(inNames([[/^parent$/, 'parent_id']], asked), OldSubscriptionSchema, oldSubscriptionOf)
  },

  list(call: Call<SubscriptionFilter>) {
    const { id, uidp } = call.request
    const listing = listEvery(ask, call, {
      method: v2.listSubscriptions,
      request: { uidp: placeOf(uidp, { id }) },
      list: SubscriptionListSchema,
      items: ({ subscriptions }) => subscriptions.map(oldSubscriptionOf),
    })
    return inNames(namesOfPlace(id && 'id'), listing)
  },

  delete: (call: Call<DeleteSubscriptionRequest>) =>
    deleted(inNames([[/^uid$/, 'id']], ask(call, v2.deleteSubscription, { uid: call.request.id }))),
})

const oldSubscriptionOf = ({ uid, sink }: Subscription) => create(OldSubscriptionSchema, { id: uid, sink })
