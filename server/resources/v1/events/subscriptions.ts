import { create } from '@bufbuild/protobuf'
import type {
  CreateSubscriptionRequest,
  DeleteSubscriptionRequest,
  SubscriptionFilter,
} from '@stemma/api/gen/platform/events/subscription_pb.ts'
import {
  SubscriptionListSchema,
  Subscriptions,
  SubscriptionSchema as V1SubscriptionSchema,
} from '@stemma/api/gen/platform/events/subscription_pb.ts'
import type { Subscription } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { SubscriptionsService } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import type { Call } from '../../../rpc/call.ts'
import { defineService } from '../../resource.ts'
import { listAllPages } from '../all-pages.ts'
import { convertReply, deleteReply } from '../convert-reply.ts'
import type { V1Dependencies } from '../dependencies.ts'
import type { FieldRename } from '../error-fields.ts'
import { renameErrorFields } from '../error-fields.ts'
import { uidpFieldRenames, uidpFilter } from '../uidp-filter.ts'

const v2 = SubscriptionsService.method

const renames: FieldRename[] = [
  [/^uid$/, 'id'],
  [/^parent$/, 'parent_id'],
]

export const subscriptionsV1 = defineService({ service: Subscriptions, methods })

function methods(deps: V1Dependencies) {
  const { callV2 } = deps
  return {
    create(call: Call<CreateSubscriptionRequest>) {
      const { parentId, subscription } = call.request
      const reply = callV2(call, v2.createSubscription, {
        parent: parentId,
        ...(subscription && { subscription: { sink: subscription.sink } }),
      })
      return convertReply(renameErrorFields(renames, reply), V1SubscriptionSchema, subscriptionToV1)
    },

    list(call: Call<SubscriptionFilter>) {
      const { id, uidp } = call.request
      const listing = listAllPages(deps, call, {
        method: v2.listSubscriptions,
        request: { uidp: uidpFilter(uidp, { id }) },
        list: SubscriptionListSchema,
        items: ({ subscriptions }) => subscriptions.map(subscriptionToV1),
      })
      return renameErrorFields(uidpFieldRenames(id && 'id'), listing)
    },

    delete(call: Call<DeleteSubscriptionRequest>) {
      const reply = callV2(call, v2.deleteSubscription, { uid: call.request.id })
      return deleteReply(renameErrorFields(renames, reply))
    },
  }
}

export const subscriptionToV1 = ({ uid, sink }: Subscription) =>
  create(V1SubscriptionSchema, { id: uid, sink })
