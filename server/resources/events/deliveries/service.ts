// Deliveries of events to the sinks of subscriptions, as people see them. server/delivery sends them.
import { create } from '@bufbuild/protobuf'
import type { ListDeliveriesRequest } from '@stemma/api/gen/platform/events/v2beta1/delivery_pb.ts'
import {
  DeliveriesService,
  DeliverySchema,
  DeliveryStateSchema,
  ListDeliveriesResponseSchema,
} from '@stemma/api/gen/platform/events/v2beta1/delivery_pb.ts'
import { invalidField, notFound } from '../../../aip/errors.ts'
import { fingerprintOf } from '../../../aip/page-token.ts'
import { parentOf } from '../../../aip/uid.ts'
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { countDeliveries, listDeliveries, restartDelivery } from '../../../store/delivery/deliveries.ts'
import { makeQueueDue } from '../../../store/delivery/queues.ts'
import { recordEvent } from '../../../store/events/record.ts'
import type { Work } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { pageSizeOf } from '../../list.ts'
import { defineService } from '../../resource.ts'
import { deliveryOf, deliveryReply } from '../delivery.ts'
import { requireActive, requireSubscription } from '../require-active.ts'

export const deliveriesService = defineService({
  service: DeliveriesService,
  methods: (deps: Dependencies) => ({
    listDeliveries: (call: Call<ListDeliveriesRequest>) => deps.store.read(() => listPage(deps, call)),

    getDelivery: (call: Call) =>
      deps.store.read(function* () {
        yield* admitToRead(call.demand)
        return yield* deliveryReply(call.demand.scope)
      }),

    redeliverEvent: (call: Call) =>
      deps.store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const uid = call.demand.scope
        const subscription = parentOf(uid)
        const time = deps.now()
        if (!(yield* restartDelivery(uid, time))) throw notFound(DeliverySchema.typeName, uid)
        yield* requireActive(subscription)
        yield* makeQueueDue(subscription, time)
        const group = parentOf(subscription)
        yield* recordEvent(access, { group, kind: 'deliveries', uid, action: 'redelivered' })
        return yield* deliveryReply(uid)
      }, call.deadline),
  }),
})

function* listPage({ pageSeals, maxListRows }: Dependencies, call: Call<ListDeliveriesRequest>): Work<Reply> {
  const { request, method, demand } = call
  yield* admitToRead(demand)
  const { state, subscription, skip } = request
  if (!DeliveryStateSchema.value[state]) throw invalidField('state', 'must be one of the delivery states')
  const descending = isDescending(request.orderBy)
  const query = { method: method.name, fingerprint: fingerprintOf([subscription, state, descending]) }
  const cursor = pageSeals.open(query, request.pageToken) as [number, string] | undefined // sealed below
  yield* requireSubscription(subscription)
  const size = pageSizeOf(request)
  const after = cursor && { createTime: cursor[0], uid: cursor[1] }
  const totalCount = BigInt(yield* countDeliveries({ subscription, state }, maxListRows))
  const rows = yield* listDeliveries({ subscription, state }, { after, descending, skip, limit: size + 1 })
  const page = rows.slice(0, size)
  const last = rows.length > size ? page.at(-1) : undefined
  const nextPageToken = last ? pageSeals.seal(query, [last.createTime, last.uid]) : ''
  return messageReply(
    ListDeliveriesResponseSchema,
    create(ListDeliveriesResponseSchema, {
      ...{ deliveries: page.map(deliveryOf), nextPageToken, totalCount, skipped: skip },
    }),
  )
}

function isDescending(orderBy: string): boolean {
  if (orderBy.trim() === '') return true
  const [matched, direction] = /^ *create_?[tT]ime(?: +(asc|desc))? *$/.exec(orderBy) ?? []
  if (matched === undefined) throw invalidField('order_by', 'must be create_time or create_time desc')
  return direction === 'desc'
}
