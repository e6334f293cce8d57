// Composition of SCIM, by which identity providers provision people.

import type { Config } from './config/config.ts'
import type { RandomBytes } from './crypto/random.ts'
import type { Mount } from './http/dispatch.ts'
import { lazily } from './lazily.ts'
import type { CallLimits } from './limits/rate/call-limits.ts'
import type { Log } from './log.ts'
import type { RefusalLog } from './rpc/refusal-log.ts'
import type { UnsentBudget } from './rpc/unsent-budget.ts'
import { isScimPath, scimPath } from './scim/path.ts'
import type { Store } from './store/db.ts'

export type ProvisioningDependencies = {
  config: Config
  store: Store
  log: Log
  refusals: RefusalLog
  limits: CallLimits
  unsent: UnsentBudget
  /** A monotonic clock in milliseconds, for the rate limits. */
  clock(): number
  now(): number
  /** The system clock, even in tests that replace `now`: the store compares deadlines with it. */
  systemNow(): number
  random: RandomBytes
}

/** The paths of SCIM. Their handler is loaded at the first request, because most servers never need it. */
export function openProvisioning(deps: ProvisioningDependencies): Mount {
  const { config, store, log, refusals, limits, unsent, clock, now, systemNow, random } = deps
  const open = lazily(async () => {
    const { openScim } = await import('./scim/scim.ts')
    return openScim({
      ...{ store, now, systemNow, random, limits, unsent, clock },
      scimUrl: `${config.baseUrl}${scimPath}`,
      onRequest: (event) => log.info(event, 'SCIM request'),
      onRefusal: (address, reason) => {
        if (refusals.admit(address, reason)) log.info({ address }, reason)
      },
      onIgnoredMembers: (event) =>
        log.warn(event, 'members of a SCIM group ignored: they are in too many groups'),
      onError: (err, requestId) => log.error({ err, requestId }, 'SCIM request failed'),
    })
  })
  return {
    isFor: isScimPath,
    async handle(request, response, target) {
      const handle = await open()
      await handle(request, response, target)
    },
  }
}
