// Subscriptions: where the events of a group are to be sent.
import { invalidField } from '../../../aip/errors.ts'
import type { Call } from '../../../rpc/call.ts'
import { createResource } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import { getResource } from '../../get.ts'
import type { ListRequest } from '../../list.ts'
import { listResources } from '../../list.ts'
import type { Surroundings } from '../../surroundings.ts'
import { sinkFault } from './sink.ts'
import { subscriptions } from './table.ts'

export type SinkRule = {
  /** Whether http is allowed on this very machine. */
  isLoopbackAllowed: boolean
}

export function subscriptionsService(surroundings: Surroundings, { isLoopbackAllowed }: SinkRule) {
  return {
    getSubscription: (call: Call) => getResource(surroundings.store, subscriptions, call),

    listSubscriptions: (call: Call<ListRequest>) => listResources(surroundings, subscriptions, call),

    createSubscription: (call: Call) =>
      createResource(surroundings, subscriptions, call, {
        prepare({ sink }) {
          const fault = sinkFault(sink, isLoopbackAllowed)
          if (fault !== undefined) throw invalidField('sink', fault)
        },
      }),

    deleteSubscription: (call: Call) => deleteResource(surroundings, subscriptions, call),
  }
}
