import { ContentMode, SubscriptionState } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import type { Store } from '../../../store/db.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { lockResource, replaceResource } from '../../stored-resource.ts'
import { subscriptions } from './table.ts'

const batchSize = 200

/** Sets the state and the content mode of subscriptions that are older than these fields. */
export async function setMissingStates(store: Store, access: WriteAccess): Promise<void> {
  while ((await store.write(() => setBatch(access))) === batchSize);
}

function* setBatch(access: WriteAccess): Work<number> {
  const rows = yield* all(sql`select uid from subscriptions where state = 0 order by uid limit ${batchSize}`)
  for (const [uid] of rows as [string][]) {
    const stored = yield* lockResource(subscriptions, uid)
    if (!stored) continue
    const { resource, updateTime } = stored
    resource.state = SubscriptionState.ACTIVE
    resource.contentMode = ContentMode.BINARY
    yield* replaceResource(access, subscriptions, resource, { uid, updateTime })
  }
  return rows.length
}
