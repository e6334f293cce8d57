// Subscriptions to the events of a group.
import type {
  ReplaySubscriptionRequest,
  RotateSubscriptionSecretRequest,
  Subscription,
} from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import {
  ContentMode,
  Handshake,
  SubscriptionSchema,
  SubscriptionState,
  SubscriptionsService,
} from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { parentOf, rootOf } from '../../../aip/uid.ts'
import { newWebhookSecret } from '../../../crypto/webhook-secret.ts'
import type { Call } from '../../../rpc/call.ts'
import { deleteDeliveries } from '../../../store/delivery/deliveries.ts'
import { openQueue } from '../../../store/delivery/queues.ts'
import { createResource } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import type { ListRequest } from '../../list.ts'
import { listResources } from '../../list.ts'
import { withOneTimeField } from '../../one-time-field.ts'
import { defineResource } from '../../resource.ts'
import type { UpdateRequest } from '../../update.ts'
import { updateResource } from '../../update.ts'
import { applyToQueue } from './apply-to-queue.ts'
import { replaySubscription } from './replay.ts'
import { rotateSecret } from './rotate-secret.ts'
import { setMissingStates } from './set-missing-states.ts'
import { sinkFault } from './sink.ts'
import { subscriptions } from './table.ts'
import { testSubscription } from './test-subscription.ts'

function subscriptionsMethods(deps: Dependencies) {
  const { random, settings } = deps
  const { isLoopbackAllowed } = settings.issuerRule
  return {
    getSubscription: (call: Call) => getResource(deps.store, subscriptions, call),

    listSubscriptions: (call: Call<ListRequest>) => listResources(deps, subscriptions, call),

    createSubscription(call: Call) {
      const secret = newWebhookSecret(random)
      return createResource(deps, subscriptions, call, {
        *beforeCreate(draft, { uid, time }) {
          if (draft.state === SubscriptionState.UNSPECIFIED) draft.state = SubscriptionState.ACTIVE
          requireUsable(draft, isLoopbackAllowed)
          draft.handshake = Handshake.PENDING
          const isActive = draft.state === SubscriptionState.ACTIVE
          yield* openQueue({ subscription: uid, parent: parentOf(uid), root: rootOf(uid), isActive }, time)
          return {
            secret: settings.sealWebhookSecret(secret),
            previous_secret: '',
            previous_secret_until: 0,
          }
        },
        complete: (reply) => withOneTimeField(reply, SubscriptionSchema.field.secret, secret),
      })
    },

    updateSubscription: (call: Call<UpdateRequest>) =>
      updateResource(deps, subscriptions, call, {
        *beforeUpdate({ current, merged, time }) {
          if (merged.state === SubscriptionState.UNSPECIFIED) merged.state = SubscriptionState.ACTIVE
          const isDisabled = current.state === SubscriptionState.DISABLED && merged.state === current.state
          requireUsable(merged, isLoopbackAllowed, isDisabled)
          if (!isDisabled) merged.stateReason = ''
          if (merged.sink !== current.sink) merged.handshake = Handshake.PENDING
          yield* applyToQueue(call.demand.scope, current, merged, time)
        },
      }),

    deleteSubscription: (call: Call) =>
      deleteResource(deps, subscriptions, call, {
        removeBatch: (uid) => deleteDeliveries(uid, maxDeletedDeliveries),
      }),

    rotateSubscriptionSecret: (call: Call<RotateSubscriptionSecretRequest>) => rotateSecret(deps, call),

    testSubscription: (call: Call) => testSubscription(deps, call),

    replaySubscription: (call: Call<ReplaySubscriptionRequest>) => replaySubscription(deps, call),
  }
}

/** In one transaction. */
const maxDeletedDeliveries = 1000

export const subscriptionsResource = defineResource({
  kind: subscriptions,
  service: SubscriptionsService,
  methods: subscriptionsMethods,
  onStart: setMissingStates,
})

/** Also sets the content mode, if it is missing. */
function requireUsable(draft: Subscription, isLoopbackAllowed: boolean, mayBeDisabled = false): void {
  const fault = sinkFault(draft.sink, isLoopbackAllowed)
  if (fault !== undefined) throw invalidField('sink', fault)
  const { state, contentMode } = draft
  if (contentMode === ContentMode.UNSPECIFIED) draft.contentMode = ContentMode.BINARY
  else if (contentMode !== ContentMode.BINARY && contentMode !== ContentMode.STRUCTURED)
    throw invalidField('content_mode', 'must be CONTENT_MODE_BINARY or CONTENT_MODE_STRUCTURED')
  const isSettable = state === SubscriptionState.ACTIVE || state === SubscriptionState.PAUSED
  if (!isSettable && !mayBeDisabled)
    throw invalidField('state', 'must be SUBSCRIPTION_STATE_ACTIVE or SUBSCRIPTION_STATE_PAUSED')
}
