// The parts of `stemmad check` about role bindings, deliveries and the audit log. Every line describes one fault.
import { checkDelivery } from '../resources/events/check-delivery.ts'
import { checkExpiry } from '../resources/iam/role-bindings/check-expiry.ts'
import type { Store } from '../store/db.ts'
import { verifyChains } from '../store/events/verify-chains.ts'
import type { WriteAccess } from '../store/write-access.ts'
import { describeFault } from './audit.ts'

/** Finds faults that can be repaired. With `repairAccess`, also repairs them. */
export async function checkRows(
  store: Store,
  now: number,
  repairAccess: WriteAccess | undefined,
): Promise<string[]> {
  const bindings = await checkExpiry(store, repairAccess)
  const deliveries = await checkDelivery(store, now, repairAccess !== undefined)
  return [
    ...bindings.map((uid) => `the role binding ${uid} does not expire at the time that the API shows\n`),
    ...deliveries.map(({ subscription, fault }) => `the subscription ${subscription} ${fault}\n`),
  ]
}

/** Entries of the audit log that were changed or removed. Nothing can repair them. */
export async function checkAuditLog(store: Store): Promise<string[]> {
  const lines: string[] = []
  for await (const { fault } of verifyChains(store)) if (fault) lines.push(describeFault(fault))
  return lines
}
