// Sets the limits of a group as the operator does with `stemmad limits set`.
import { operatorAccess } from '../../server/policy/system-access.ts'
import { replaceLimits } from '../../server/resources/iam/groups/replace-limits.ts'
import type { Store } from '../../server/store/db.ts'

export async function setLimits(store: Store, uid: string, limits: Record<string, number>): Promise<void> {
  const change = () => new Map(Object.entries(limits))
  await store.write(() =>
    replaceLimits(operatorAccess, {
      ...{ uid, change, defaults: new Map(), now: Date.now(), mayNameInErrors: () => true },
    }),
  )
}
