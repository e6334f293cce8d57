// Compares the tables of delivery with subscriptions and the event log, for `stemmad check`.
import { SubscriptionState } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import type { Store } from '../../store/db.ts'
import { deliveryStates } from '../../store/delivery/deliveries.ts'
import { openQueue } from '../../store/delivery/queues.ts'
import type { Sql } from '../../store/sql.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'

export type DeliveryFault = { subscription: string; fault: string }

type Check = {
  fault: string
  /** Selects the uids of subscriptions. */
  select: Sql
  repair(subscription: string, now: number): Work<void>
}

const { ACTIVE } = SubscriptionState
const { pending } = deliveryStates

const checks: readonly Check[] = [
  {
    fault: 'has no queue, so it gets no events',
    select: sql`select uid from subscriptions s
      where not exists (select 1 from delivery_queues q where q.subscription = s.uid)`,
    *repair(subscription, now) {
      const [row] = yield sql`select parent, root, state from subscriptions where uid = ${subscription}`
      if (!row) return
      const [parent, root, state] = row as [string, string, number]
      yield* openQueue({ subscription, parent, root, isActive: state === ACTIVE }, now)
    },
  },
  {
    fault: 'has a queue that does not fit its state',
    select: sql`select s.uid from subscriptions s join delivery_queues q on q.subscription = s.uid
      where s.state <> 0 and (s.state = ${ACTIVE}) <> (q.is_active = 1)`,
    *repair(subscription, now) {
      yield sql`update delivery_queues set
        is_active = case when (select state from subscriptions s where s.uid = subscription) = ${ACTIVE} then 1 else 0 end,
        due_time = case when (select state from subscriptions s where s.uid = subscription) = ${ACTIVE}
          then cast(${now} as bigint) end
        where subscription = ${subscription}`
    },
  },
  {
    fault: 'waits for events after the end of the log, and would miss the next ones',
    select: sql`select subscription from delivery_queues q
      where position > coalesce((select sequence from event_chains c where c.root = q.root), 0)`,
    *repair(subscription) {
      yield sql`update delivery_queues
        set position = coalesce((select sequence from event_chains c where c.root = delivery_queues.root), 0)
        where subscription = ${subscription}`
    },
  },
  {
    fault: 'has pending deliveries without a time for the next attempt, or ended deliveries with one',
    select: sql`select distinct subscription from deliveries where (state = ${pending}) <> (next_time is not null)`,
    *repair(subscription, now) {
      yield sql`update deliveries set next_time = case when state = ${pending} then cast(${now} as bigint) end
        where subscription = ${subscription} and (state = ${pending}) <> (next_time is not null)`
    },
  },
]

/** Returns what is wrong, or with `shouldRepair` what it has corrected. */
export async function checkDelivery(
  store: Store,
  now: number,
  shouldRepair: boolean,
): Promise<DeliveryFault[]> {
  const faults: DeliveryFault[] = []
  for (const { fault, select, repair } of checks)
    for (const [uid] of await store.query(select)) {
      const subscription = uid as string
      faults.push({ subscription, fault })
      if (shouldRepair) await store.write(() => repair(subscription, now))
    }
  return faults
}
