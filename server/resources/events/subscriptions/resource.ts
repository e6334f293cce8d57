// Subscriptions to the events of a group.
import { SubscriptionsService } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import type { Call } from '../../../rpc/call.ts'
import { createResource } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import type { ListRequest } from '../../list.ts'
import { listResources } from '../../list.ts'
import { defineResource } from '../../resource.ts'
import { sinkFault } from './sink.ts'
import { subscriptions } from './table.ts'

function subscriptionsMethods(deps: Dependencies) {
  const { isLoopbackAllowed } = deps.settings.issuerRule
  return {
    getSubscription: (call: Call) => getResource(deps.store, subscriptions, call),

    listSubscriptions: (call: Call<ListRequest>) => listResources(deps, subscriptions, call),

    createSubscription: (call: Call) =>
      createResource(deps, subscriptions, call, {
        beforeCreate({ sink }) {
          const fault = sinkFault(sink, isLoopbackAllowed)
          if (fault !== undefined) throw invalidField('sink', fault)
        },
      }),

    deleteSubscription: (call: Call) => deleteResource(deps, subscriptions, call),
  }
}

export const subscriptionsResource = defineResource({
  kind: subscriptions,
  service: SubscriptionsService,
  methods: subscriptionsMethods,
})
