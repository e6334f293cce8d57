// Composition of the delivery of events to the sinks of subscriptions.
import type { LookupAddress } from 'node:dns'
import { openGuardedSend } from './auth/outbound/outbound.ts'
import { isLoopback } from './claims/issuer.ts'
import type { ToCloudEvent } from './cloud-events/to-cloud-event.ts'
import type { Config } from './config/config.ts'
import type { Core } from './core.ts'
import { openText } from './crypto/secret.ts'
import type { Deliverer } from './delivery/deliverer.ts'
import { openDeliverer } from './delivery/deliverer.ts'
import { isOwnAddress } from './delivery/own-address.ts'
import { openSend } from './delivery/send.ts'
import type { SealSignal } from './events/seal-signal.ts'
import type { Log } from './log.ts'
import { cloudEventsOf } from './outgoing-events.ts'
import { deliveryAccess } from './policy/system-access.ts'
import { disableSubscription, recordHandshake } from './resources/events/subscriptions/after-delivery.ts'
import type { ScalarMetric } from './rpc/metrics.ts'
import { webhookSecretPurpose, webhookSecretSealer } from './settings.ts'
import { claimTask } from './store/claim-task.ts'
import type { Store } from './store/db.ts'
import type { Outcome } from './store/delivery/deliveries.ts'
import { countPending, deleteFinished } from './store/delivery/deliveries.ts'
import { countWaiting } from './store/delivery/queues.ts'
import { countRecorded, countUnsealed } from './store/events/seal.ts'
import type { Work } from './store/work.ts'
import { asUpkeep } from './store/write-access.ts'
import type { DeliveryCounts, Measured } from './workers/delivery-counts.ts'
import { countDelivery, readDeliveryCounts, setMeasured } from './workers/delivery-counts.ts'

export type DeliveryOptions = {
  config: Config
  store: Store
  log: Log
  core: Pick<Core, 'keys' | 'secret' | 'now' | 'random' | 'clock' | 'sealer' | 'sealSignal'>
  counts: DeliveryCounts
  overrides: DeliveryOverrides
}

/** Dependencies that tests and `stemmad demo` replace. */
export type DeliveryOverrides = {
  resolveSink?: (hostname: string) => Promise<LookupAddress[]>
  /** If false, only `settle` sends events. */
  deliversInBackground?: boolean
}

export function startDelivery(options: DeliveryOptions): Deliverer {
  const { config, store, log, core, counts } = options
  const { resolveSink: resolve, deliversInBackground = true } = options.overrides
  const { keys, secret, now, random, clock } = core
  const { authUrl, baseUrl } = config
  const guardedSend = openGuardedSend({ ...(resolve && { resolve }), isRefused: isOwnAddress(config) })
  const isLoopbackAllowed = isLoopback(new URL(baseUrl))
  const sealer = webhookSecretSealer(secret)
  const deliverer = openDeliverer({
    ...{ store, keys, authUrl, now, random, clock, deliversInBackground },
    origin: new URL(baseUrl).hostname,
    send: openSend({ guardedSend, isLoopbackAllowed, clock }),
    toCloudEvent: skippingFaultyEvents(cloudEventsOf(config), log),
    openSecret: (sealed) => openText(sealer, webhookSecretPurpose, sealed),
    recordHandshake: (uid, isAllowed) => recordHandshake(asUpkeep(deliveryAccess), uid, isAllowed),
    disable: (uid, reason) => disableSubscription(deliveryAccess, uid, reason, now()),
    onDisabled: (subscription, reason) => log.info({ subscription, reason }, 'a subscription was disabled'),
    onAttempt: (outcome) => count(counts, outcome),
    onError: (err) => log.warn({ err }, 'events could not be delivered; the server tries again'),
  })
  void wakeAfterSealing(core.sealSignal, deliverer)
  const stopUpkeep = startUpkeep(options)
  return {
    ...deliverer,
    async settle() {
      await core.sealer.catchUp()
      await deliverer.settle()
    },
    async stop() {
      stopUpkeep()
      await deliverer.stop()
    },
  }
}

/** An event that cannot be converted must not block those after it. It stays in the audit log. */
const skippingFaultyEvents =
  (toCloudEvent: ToCloudEvent, log: Log): ToCloudEvent =>
  (event) => {
    try {
      return toCloudEvent(event)
    } catch (err) {
      log.error({ err, event: event.id }, 'an event could not be converted to a CloudEvent, and is not sent')
      return undefined
    }
  }

/** Events that this process has sealed are sent at once. Others are found by the deliverer within a second. */
async function wakeAfterSealing(sealSignal: SealSignal, { wake }: Deliverer): Promise<void> {
  while (!sealSignal.isClosed()) {
    await sealSignal.wait(maxWaitMs)
    wake()
  }
}

const maxWaitMs = 60_000

function count(counts: DeliveryCounts, { kind }: Outcome): void {
  countDelivery(counts, kind === 'delivered' ? 'delivered' : 'failedAttempts')
  if (kind === 'failed') countDelivery(counts, 'deadLetters')
}

const upkeepIntervalMs = 60_000
/** How long deliveries that succeeded or failed can be listed and sent again. */
const keptMs = 30 * 24 * 60 * 60 * 1000
const maxDeleted = 1000

function* measure(): Work<Measured> {
  const [unsealed] = yield countUnsealed
  const pending = yield* countPending()
  const queueLength = yield* countWaiting()
  return { pending, queueLength, recorded: yield* countRecorded(), unsealed: Number(unsealed?.[0]) }
}

/** Deletes old deliveries and counts pending ones, every minute. Returns a function that stops it. */
function startUpkeep({ store, log, core: { now }, counts }: DeliveryOptions): () => void {
  const runUpkeep = async () => {
    setMeasured(counts, await store.read(measure))
    if (!(await store.write(() => claimTask('delete-deliveries', now(), upkeepIntervalMs / 2)))) return
    while (await store.write(() => deleteFinished(now() - keptMs, maxDeleted)));
  }
  const timer = setInterval(() => {
    runUpkeep().catch((err) => log.warn({ err }, 'deliveries could not be counted or deleted'))
  }, upkeepIntervalMs).unref()
  return () => clearInterval(timer)
}

export function deliveryMetrics(counts: DeliveryCounts): ScalarMetric[] {
  const { delivered, failedAttempts, deadLetters, pending, queueLength, recorded, unsealed } =
    readDeliveryCounts(counts)
  const metric = (name: string, type: ScalarMetric['type'], help: string, value: number): ScalarMetric => ({
    ...{ name: `stemma_${name}`, type, help, value },
  })
  return [
    metric('events_recorded_total', 'counter', 'Entries of the audit log, counted every minute', recorded),
    metric('events_unsealed', 'gauge', 'Events that are not numbered yet, counted every minute', unsealed),
    metric('event_deliveries_total', 'counter', 'Events that sinks have accepted', delivered),
    metric('event_failed_attempts_total', 'counter', 'Failed attempts to deliver an event', failedAttempts),
    metric(
      'event_dead_letters_total',
      'counter',
      'Events that were not accepted within 72 hours, or could not be sent any more',
      deadLetters,
    ),
    metric(
      'event_deliveries_pending',
      'gauge',
      'Deliveries that wait for an attempt, counted every minute',
      pending,
    ),
    metric(
      'event_queue_length',
      'gauge',
      'Events that active subscriptions have not taken from the log yet, counted every minute',
      queueLength,
    ),
  ]
}
