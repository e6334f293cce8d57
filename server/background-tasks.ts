// The tasks that a server performs while it runs, besides calls, and their metrics.
import { maintainKeys, recordRotation } from './auth/keys/rotation.ts'
import { sweepExpiredStates } from './authentication.ts'
import { scheduleBindingExpiry } from './binding-expiry.ts'
import type { Config } from './config/config.ts'
import type { Core } from './core.ts'
import type { DeliveryOverrides } from './event-delivery.ts'
import { deliveryMetrics, startDelivery } from './event-delivery.ts'
import { eventMetrics, scheduleEventRetention } from './event-retention.ts'
import { sealRegularly } from './events/sealer.ts'
import { loadInAdvance } from './load-in-advance.ts'
import type { Log } from './log.ts'
import { systemOrigin } from './policy/origin.ts'
import { collectionMetrics, openCollector } from './registry-collection.ts'
import { retentionMetrics, scheduleRetention } from './retention-schedule.ts'
import type { ScalarMetric } from './rpc/metrics.ts'
import type { Store } from './store/db.ts'
import type { WorkerRole } from './worker-role.ts'
import type { SharedState } from './workers/shared-state.ts'

type BackgroundOptions = {
  config: Config
  store: Store
  log: Log
  core: Core
  role: Pick<WorkerRole, 'shared' | 'isFirst'>
  overrides: DeliveryOverrides
}

export type BackgroundTasks = {
  /** Sends all due events to the sinks of subscriptions. */
  deliverEvents(): Promise<void>
  /** Ends the garbage collection of the registry and the delivery of events. */
  stopCollectionAndDelivery(): Promise<void>
  /** Ends all other tasks. */
  stop(): Promise<void>
}

export function startBackgroundTasks(options: BackgroundOptions): BackgroundTasks {
  const { config, store, log, core, role, overrides } = options
  const { now, clock, content } = core
  const { backgroundCounts: counts, deliveryCounts } = role.shared
  const collector = role.isFirst
    ? openCollector({ config, store, content, log, now, clock, counts })
    : undefined
  // On the embedded store, only one thread delivers: several would wait for each other's writes.
  const deliverer =
    role.isFirst || store.engine === 'postgres'
      ? startDelivery({ config, store, log, core, counts: deliveryCounts, overrides })
      : undefined
  const stopTasks = [
    startKeyRotation(options),
    sweepExpiredStates(store, now, log),
    ...(role.isFirst ? startTasksOfFirstWorker(options) : []),
    loadInAdvance(() => Promise.all(core.mounts.map((mount) => mount.load?.()))),
  ]
  return {
    deliverEvents: async () => deliverer?.settle(),
    async stopCollectionAndDelivery() {
      await Promise.all([collector?.stop(), deliverer?.stop()])
    },
    async stop() {
      await Promise.all(stopTasks.map((stopTask) => stopTask()))
    },
  }
}

function startKeyRotation({ config, store, log, core }: BackgroundOptions): () => void {
  const { keys, secret, now, random } = core
  return maintainKeys(
    { store, secret, tokenAlgorithm: config.tokenAlgorithm, now, random },
    keys,
    () => recordRotation({ origin: systemOrigin('server', 'key rotation', { now, random }) }, false),
    (err) => log.warn({ err }, 'the signing keys could not be read or rotated'),
  )
}

/** Returns the functions that stop the tasks. */
function startTasksOfFirstWorker({ config, store, log, core, role }: BackgroundOptions) {
  const { now, sealer } = core
  const { backgroundCounts: counts } = role.shared
  const onSealError = (err: unknown) =>
    log.warn({ err }, 'events could not be sealed; the server tries again')
  return [
    sealRegularly(sealer, store, onSealError),
    scheduleRetention({ config, store, log, now, counts }).stop,
    scheduleEventRetention({ config, store, log, now, counts }),
    scheduleBindingExpiry(store, log, now).stop,
  ]
}

export const backgroundMetrics = ({ backgroundCounts, deliveryCounts }: SharedState): ScalarMetric[] => [
  ...collectionMetrics(backgroundCounts),
  ...retentionMetrics(backgroundCounts),
  ...eventMetrics(backgroundCounts),
  ...deliveryMetrics(deliveryCounts),
]
