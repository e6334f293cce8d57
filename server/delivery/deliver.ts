// Sends one delivery, and records the attempt.
import type { Subscription } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { ContentMode } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import type { CloudEvent } from '../cloud-events/cloud-event.ts'
import type { ToCloudEvent } from '../cloud-events/to-cloud-event.ts'
import type { RandomBytes } from '../crypto/random.ts'
import type { Store } from '../store/db.ts'
import type { Outcome, StoredAttempt, StoredDelivery } from '../store/delivery/deliveries.ts'
import { recordAttempt } from '../store/delivery/deliveries.ts'
import type { LeasedQueue } from '../store/delivery/queues.ts'
import { readSealedEvent } from '../store/events/read-sealed.ts'
import type { Judgement } from './judge.ts'
import { judge } from './judge.ts'
import type { RequestDependencies } from './request.ts'
import { requestOf, withoutSecrets } from './request.ts'
import type { Send } from './send.ts'

export type DeliverDependencies = RequestDependencies & {
  store: Store
  send: Send
  toCloudEvent: ToCloudEvent
  random: RandomBytes
  /** Decrypts the secret of a subscription. */
  openSecret(sealed: string): string
  /** Called after an attempt was recorded, also if the event could not be sent any more. */
  onAttempt(outcome: Outcome): void
  /** Aborted when the server stops. */
  stopped: AbortSignal
}

/** `token` is that of the lease of the queue. */
export type Destination = { subscription: Subscription; queue: LeasedQueue; token: string }

/** Undefined if the server stops before the sink responds, or if the event cannot be sent any more. */
export async function deliver(
  deps: DeliverDependencies,
  { subscription, queue, token }: Destination,
  delivery: StoredDelivery,
): Promise<Judgement | undefined> {
  const { store, send, now, random, stopped } = deps
  const time = now()
  const event = await eventOf(deps, queue.root, delivery)
  if (!event) {
    await fail(deps, delivery, token, time)
    return undefined
  }
  const request = await requestOf(deps, event, {
    group: queue.parent,
    isStructured: subscription.contentMode === ContentMode.STRUCTURED,
    secrets: secretsOf(queue, time).map(deps.openSecret),
  })
  const answer = await send(subscription.sink, request, stopped)
  // It is not known whether the sink has received it, so nothing is recorded, and the next process sends it again.
  if (stopped.aborted && answer.status === 0) return undefined
  const judgement = judge(answer, delivery, now(), random)
  const { status, body: response, error, latencyMs } = answer
  const headers = withoutSecrets(request)
  const attempt: StoredAttempt = {
    ...{ time, latencyMs: Math.round(latencyMs), status, response, error, headers },
  }
  await store.write(() => recordAttempt(delivery, token, attempt, judgement.outcome, now()))
  deps.onAttempt(judgement.outcome)
  return judgement
}

async function eventOf(
  { store, toCloudEvent }: DeliverDependencies,
  root: string,
  { sequence, testEvent }: StoredDelivery,
): Promise<CloudEvent | undefined> {
  if (testEvent !== null) return JSON.parse(testEvent) as CloudEvent // written by TestSubscription
  const event = await store.read(() => readSealedEvent(root, sequence))
  return event && toCloudEvent(event)
}

async function fail(
  { store, onAttempt }: DeliverDependencies,
  delivery: StoredDelivery,
  token: string,
  time: number,
): Promise<void> {
  const error = 'the event is no longer stored, or cannot be converted'
  const attempt = { time, latencyMs: 0, status: 0, response: '', error }
  const outcome: Outcome = { kind: 'failed' }
  await store.write(() => recordAttempt(delivery, token, attempt, outcome, time))
  onAttempt(outcome)
}

/** The newest first. */
function secretsOf({ secret, previousSecret, previousSecretUntil }: LeasedQueue, now: number): string[] {
  const secrets = [secret, ...(previousSecretUntil > now ? [previousSecret] : [])]
  return secrets.filter((sealed) => sealed !== '')
}
