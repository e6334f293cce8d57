// The work on the queue of one subscription: it is leased for a short time, and some of its deliveries are sent. Turns of
// different subscriptions are independent, so a slow sink delays only its own deliveries.
import { fromBinary } from '@bufbuild/protobuf'
import type { Subscription } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { SubscriptionSchema } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import type { Health } from '../store/delivery/queues.ts'
import { endHandshake, readLeasedQueue, releaseQueue } from '../store/delivery/queues.ts'
import type { Work } from '../store/work.ts'
import type { DeliverDependencies, Destination } from './deliver.ts'
import { deliver } from './deliver.ts'
import { isAllowed } from './handshake.ts'
import { healthAfter, isHopeless, pauseUntilOf } from './health.ts'
import { nextDeliveries } from './next-deliveries.ts'

export type TurnDependencies = DeliverDependencies & {
  /** A monotonic clock in milliseconds. */
  clock(): number
  /** Stores the result of the handshake in the subscription. */
  recordHandshake(subscription: string, isAllowed: boolean): Work<void>
  /** Sets the state of the subscription and stops its queue. */
  disable(subscription: string, reason: string): Work<void>
}

/** `token` is that of the lease. */
export type Turn = { subscription: string; token: string }

/** No request begins after this time, and none takes longer than 15 seconds, so a turn ends before its lease does. */
const turnMs = 5000
export const leaseMs = 60_000
const maxPerTurn = 64
/** How many requests a sink gets at a time if it has accepted the last ones. Otherwise, it gets one. */
const maxConcurrent = 4

export async function takeTurn(deps: TurnDependencies, { subscription: uid, token }: Turn): Promise<void> {
  const queue = await deps.store.read(() => readLeasedQueue(uid, token))
  if (!queue) return
  const destination = { subscription: fromBinary(SubscriptionSchema, queue.proto), queue }
  if (queue.wantsHandshake) await performHandshake(deps, destination.subscription)
  const { health, pauseUntil, reason } = await sendSome(deps, destination, token)
  await deps.store.write(function* () {
    const now = deps.now()
    const why = reason ?? (isHopeless(health, now) ? 'no delivery has succeeded for five days' : undefined)
    if (why !== undefined) yield* deps.disable(uid, why)
    yield* releaseQueue(uid, token, { ...health, pauseUntil }, now)
  })
}

async function performHandshake(deps: TurnDependencies, { uid, sink }: Subscription): Promise<void> {
  const allowed = await isAllowed(deps.send, sink, deps.origin, deps.stopped)
  if (deps.stopped.aborted) return
  await deps.store.write(function* () {
    yield* endHandshake(uid)
    yield* deps.recordHandshake(uid, allowed)
  })
}

/** `reason` is why the subscription is to be disabled. */
type Result = { health: Health; pauseUntil: number; reason?: string }

/** Sends deliveries until none is due, the sink fails, or the turn is over. */
async function sendSome(deps: TurnDependencies, destination: Destination, token: string): Promise<Result> {
  const { clock, now, stopped } = deps
  const end = clock() + turnMs
  let health: Health = destination.queue
  let pauseUntil = 0
  for (let sent = 0; sent < maxPerTurn && pauseUntil === 0 && clock() < end && !stopped.aborted; ) {
    const wanted = health.isProven ? maxConcurrent : 1
    const due = await nextDeliveries(deps, destination, token, wanted)
    if (due.length === 0) break
    const judgements = await Promise.all(due.map((delivery) => deliver(deps, destination, delivery)))
    const results = judgements.filter((judgement) => judgement !== undefined)
    sent += due.length
    if (results.length === 0) continue
    health = healthAfter(health, results, now())
    pauseUntil = pauseUntilOf(health, results, now())
    if (results.some(({ kind }) => kind === 'gone'))
      return { health, pauseUntil, reason: 'the sink answered with the status 410' }
  }
  return { health, pauseUntil }
}
